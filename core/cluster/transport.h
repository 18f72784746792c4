/// Transport: carries requests and their answers between the tasks of a cluster, as bytes under a method's name. It is
/// a plug-in, libemplace_cluster.so, which takes no symbol from the program, and the other way round: what crosses the
/// border is declared here, plain values and classes without state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace emplace {

/// How a request ended: a code of core/base/status.h, a message, and the answer's bytes if the code is 0.
struct Answer {
  int code = 0;
  std::string message;
  std::string body;
  std::shared_ptr<const std::string> shared = nullptr;  // if set, the bytes instead of `body`: others keep them, too
};

/// Which request this is, so that one which is sent again, on another connection, is known.
struct RequestId {
  uint64_t sender = 0;          // 0: it has no id, and is not sent again
  uint64_t number = 0;          // of the sender's, from 1 on
  uint64_t answered_below = 0;  // the sender has the answers of all before this number
};

/// Who waits for an answer. Called once, on a thread of the transport; it must not wait for others.
class AnswerSink {
 public:
  virtual void take(Answer answer) = 0;

 protected:
  ~AnswerSink() = default;
};

/// A request that has come here. Lives until answer(), which is called once, on any thread.
class IncomingRequest {
 public:
  virtual std::string_view method() const = 0;
  virtual std::string& body() = 0;
  virtual void answer(Answer answer) = 0;
  virtual RequestId id() const { return {}; }
  /// Is there somebody who waits for the answer, as far as is known?
  virtual bool is_awaited() const { return true; }
  /// Asked within handle(), which may wait if it is true: another thread reads on, and the request may be called off
  /// before handle() has returned.
  virtual bool stay() { return false; }

 protected:
  ~IncomingRequest() = default;
};

/// Whoever answers requests. Both on threads of the transport; they must not wait for others, see stay().
class RequestHandler {
 public:
  virtual void handle(IncomingRequest* request) = 0;
  /// Nobody waits for its answer any longer: it was called off, or who sent it is gone. It is to be answered all the
  /// same. Not after answer() has returned.
  virtual void called_off(IncomingRequest* request) = 0;
  /// A connection was refused, because this process lacks something.
  virtual void connection_refused(const std::string& /*why*/) {}

 protected:
  ~RequestHandler() = default;
};

/// A request under way, from its caller's side.
class OutgoingRequest {
 public:
  virtual ~OutgoingRequest() = default;
  /// It ends soon, whatever has become of it.
  virtual void call_off() = 0;
};

/// Asks a peer to call off the request whose number, in decimal, is the body. Its id has the sender, and no number.
inline constexpr char kCallOffMethod[] = "/emplace.Transport/CallOff";
/// A connection that is lost is mended within this time, or its requests are called off: seconds.
inline constexpr double kMend_s = 2;

/// The way to a peer. Thread-safe. It connects at the first request, and again when the connection was lost: requests
/// under way are sent again then, with the same id.
class PeerChannel {
 public:
  virtual ~PeerChannel() = default;
  /// Keeps `body`. `timeout_s` 0: no bound but that of the peer's heartbeat. Who is not there is not waited for:
  /// Unavailable. The request may be dropped at any time; its sink is called all the same.
  virtual std::shared_ptr<OutgoingRequest> send(std::string_view method, std::string body, double timeout_s,
                                                AnswerSink* sink) = 0;
};

/// A port that takes requests.
class ListeningPort {
 public:
  /// Ends all requests; none is handled afterwards.
  virtual ~ListeningPort() = default;
  virtual int number() const = 0;
};

struct TransportOptions {
  std::string token;                      // what every request has to bring
  std::string tls_ca, tls_cert, tls_key;  // PEM; both ends show a certificate that this CA signed. Empty: no encryption
  int64_t max_message_bytes = int64_t{1} << 30;
  double heartbeat_s = 5, dead_after_s = 15;  // a silent peer is asked so often, and given up after so long
};

class Transport {
 public:
  /// `address`: "host:port". Never fails; requests do.
  virtual PeerChannel* connect(const std::string& address, const TransportOptions& options) = 0;
  /// Port 0: one that is free. Null, and why: the port is taken, or there is no such address.
  virtual ListeningPort* listen(const std::string& address, const TransportOptions& options, RequestHandler* handler,
                                std::string* error) = 0;

 protected:
  ~Transport() = default;
};

/// The one symbol that the plug-in exports: `const TransportPlugin* emplace_cluster_transport()`.
inline constexpr char kTransportSymbol[] = "emplace_cluster_transport";
inline constexpr char kTransportFile[] = "libemplace_cluster.so";
/// Counts changes of this file.
inline constexpr uint32_t kTransportAbi = 4;

struct TransportPlugin {
  uint32_t abi = kTransportAbi;
  uint32_t answer_bytes = sizeof(Answer), options_bytes = sizeof(TransportOptions);
  Transport* transport = nullptr;  // lives forever
};

}  // namespace emplace
