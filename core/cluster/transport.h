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

 protected:
  ~IncomingRequest() = default;
};

/// Whoever answers requests. Both on threads of the transport; they must not wait for others.
class RequestHandler {
 public:
  virtual void handle(IncomingRequest* request) = 0;
  /// Nobody waits for its answer any longer: it was called off, or who sent it is gone. It is to be answered all the
  /// same. Not after answer() has returned.
  virtual void called_off(IncomingRequest* request) = 0;

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

/// The way to a peer. Thread-safe. It connects at the first request, and again when the connection was lost.
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
inline constexpr uint32_t kTransportAbi = 2;

struct TransportPlugin {
  uint32_t abi = kTransportAbi;
  uint32_t answer_bytes = sizeof(Answer), options_bytes = sizeof(TransportOptions);
  Transport* transport = nullptr;  // lives forever
};

}  // namespace emplace
