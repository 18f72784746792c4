// Part of core/cluster/transport.h: requests by gRPC. Its generic interface carries bytes, so that nothing is
// generated.
#include "core/cluster/transport.h"

#include <grpc/support/log.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/cluster/grpc/channel.h"
#include "core/cluster/grpc/port.h"

namespace emplace {
namespace {

/// gRPC's own lines are nobody's but GRPC_VERBOSITY asks for them.
void take_log_line(gpr_log_func_args* line) {
  if (std::getenv("GRPC_VERBOSITY")) std::fprintf(stderr, "%s\n", line->message);
}

class GrpcTransport final : public Transport {
 public:
  PeerChannel* connect(const std::string& address, const TransportOptions& options) override {
    return new GrpcChannel(address, options);
  }
  ListeningPort* listen(const std::string& address, const TransportOptions& options, RequestHandler* handler,
                        std::string* error) override {
    auto port = std::make_unique<GrpcPort>(options, handler);
    const std::string why = port->start(address, options);
    if (why.empty()) return port.release();
    *error = "Could not start gRPC server: " + why;
    return nullptr;
  }
};

}  // namespace
}  // namespace emplace

extern "C" __attribute__((visibility("default"))) const emplace::TransportPlugin* emplace_cluster_transport() {
  static auto* const kTransport = new emplace::GrpcTransport;  // outlives threads of gRPC that end late
  static const emplace::TransportPlugin kPlugin = [] {
    gpr_set_log_function(emplace::take_log_line);
    emplace::TransportPlugin plugin;
    plugin.transport = kTransport;
    return plugin;
  }();
  return &kPlugin;
}
