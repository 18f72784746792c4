// The way to a peer of core/cluster/transport.h by gRPC.
#pragma once

#include <memory>
#include <string>

#include "core/cluster/transport.h"

namespace emplace {

class GrpcChannel final : public PeerChannel {
 public:
  GrpcChannel(const std::string& address, const TransportOptions& options);
  std::shared_ptr<OutgoingRequest> send(std::string_view method, std::string body, double timeout_s,
                                        AnswerSink* sink) override;

 private:
  const std::shared_ptr<class GrpcLink> link_;
};

}  // namespace emplace
