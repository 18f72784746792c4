// Which replicas let their gradients meet by NCCL, and what is said where they do not.
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "core/device/gpu.h"
#include "core/op/trait_table.h"
#include "core/train/strategies/replication.h"

namespace emplace {
namespace {

class Backend final : public GpuBackend {
 public:
  explicit Backend(Status collectives) : collectives_(std::move(collectives)) {}
  Result<std::vector<PhysicalGpu>> enumerate() override { return std::vector<PhysicalGpu>(); }
  bool peers(int, int) override { return true; }
  Result<std::unique_ptr<Gpu>> open(const GpuOptions&) override { return unavailable("nothing to open"); }
  Status collectives() const override { return collectives_; }
  GpuKernel kernel(std::string_view, DType) const override { return {}; }
  std::vector<std::pair<std::string_view, DTypeSet>> kernels() const override { return {}; }

 private:
  Status collectives_;
};

/// The warnings, and in front "nccl: " if it was chosen.
std::vector<std::string> chosen(const std::vector<int>& cards, std::vector<std::string> replicas,
                                DeviceKind kind = DeviceKind::kCuda, Status collectives = {}) {
  static std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<Backend>(std::move(collectives)));
  DeviceSet set;
  set.gpus = backends.back().get();
  auto add = [&](const char* type, int id, DeviceKind of, int card) {
    Device d;
    d.type = type;
    d.kind = of;
    d.physical_gpu = card;
    d.name = cat("/job:localhost/replica:0/task:0/device:", type, ":", id);
    d.parsed = *DeviceName::parse(d.name);
    set.devices.push_back(std::move(d));
  };
  add("CPU", 0, DeviceKind::kCpu, -1);
  for (size_t i = 0; i < cards.size(); ++i) add("GPU", static_cast<int>(i), kind, cards[i]);
  Replication replication;
  replication.strategy = Strategy::kMirrored;
  replication.replicas = std::move(replicas);
  std::vector<std::string> notes;
  CHECK(resolve_replication(set, false, replication, notes).message() == "");
  if (replication.nccl) notes.insert(notes.begin(), "nccl");
  return notes;
}

using Lines = std::vector<std::string>;

TEST_CASE("replicas on cards of their own meet by NCCL") {
  CHECK(chosen({0, 1}, {"GPU:0", "GPU:1"}) == Lines{"nccl"});
  CHECK(chosen({0, 1, 2}, {}) == Lines{"nccl"});
}

TEST_CASE("one replica has nobody to meet") { CHECK(chosen({0, 1}, {"GPU:1"}).empty()); }

TEST_CASE("where NCCL cannot be used, TensorFlow's lines say why") {
  CHECK(chosen({0, 0}, {}) ==
        Lines{"NCCL is not supported when using virtual GPUs, fallingback to reduction to one device"});
  CHECK(chosen({0, 0, 1}, {"GPU:0", "GPU:2"}) ==
        Lines{"NCCL is not supported when using virtual GPUs, fallingback to reduction to one device"});
  CHECK(chosen({0, 1}, {"GPU:0", "CPU:0"}) ==
        Lines{"There are non-GPU devices in `tf.distribute.Strategy`, not using nccl allreduce."});
  CHECK(chosen({0, 1}, {}, DeviceKind::kSimulatedGpu) == Lines{"Nccl kernel is not found, not using nccl allreduce."});
  CHECK(chosen({0, 1}, {}, DeviceKind::kCuda, unavailable("cannot load libnccl.so.2: no such file")) ==
        Lines{"Nccl kernel is not found, not using nccl allreduce. (cannot load libnccl.so.2: no such file)"});
}

TEST_CASE("replicas with loops meet on one device, and a line says why") {
  for (const char* op : {"Enter", "Exit"}) {
    Graph graph;
    graph.types_.emplace_back().traits = &traits_of(op);
    graph.nodes_.emplace_back().type = static_cast<uint32_t>(graph.types_.size() - 1);
    Replication replication;
    replication.nccl = true;
    Lines notes;
    avoid_collectives(graph, replication, notes);
    const bool loop = std::string_view(op) == "Enter";
    CHECK(replication.nccl == !loop);
    CHECK(notes == (loop ? Lines{"NCCL is not supported in a step with loops, falling back to reduction to one device"}
                         : Lines{}));
  }
}

}  // namespace
}  // namespace emplace
