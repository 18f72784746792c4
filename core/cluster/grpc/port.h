// The listening end of core/cluster/transport.h by gRPC.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/cluster/grpc/acceptor.h"
#include "core/cluster/grpc/answer_stream.h"
#include "core/cluster/transport.h"

namespace emplace {

class GrpcPort final : public ListeningPort, public grpc::CallbackGenericService {
 public:
  GrpcPort(const TransportOptions& options, RequestHandler* handler);
  ~GrpcPort() override;

  /// Returns why not; empty: requests are taken.
  std::string start(const std::string& address, const TransportOptions& options);
  int number() const override { return acceptor_.port(); }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

 private:
  grpc::ServerGenericBidiReactor* open_stream(grpc::GenericCallbackServerContext* context);

  const std::string token_;
  const uint64_t run_;  // of this process, for who asks again
  RequestHandler* const handler_;
  Acceptor acceptor_;
  std::mutex mutex_;
  std::set<AnswerStream*> streams_;  // guarded by mutex_
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace emplace
