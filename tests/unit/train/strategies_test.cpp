// Strategies: several devices train as one does.
#include "core/base/cat.h"
#include "core/tensor/tensor.h"
#include "core/train/replica_check.h"
#include "tests/unit/train/training_fixture.h"

namespace emplace {
namespace {

const nlohmann::json kAdam = {{"optimizer", "adam"}, {"learning_rate", 0.05}};

}  // namespace

TEST_CASE("synchronous replicas give the curve of one device, even with an uneven rest") {
  for (const nlohmann::json& train :
       {kAdam,
        nlohmann::json{{"optimizer", "momentum"}, {"momentum", 0.8}, {"learning_rate", 0.05}, {"clip_norm", 0.5}},
        nlohmann::json{{"optimizer", "adamw"},
                       {"learning_rate",
                        {{"schedule", "exponential"},
                         {"initial_learning_rate", 0.1},
                         {"decay_steps", 20},
                         {"decay_rate", 0.5}}}}}) {
    for (bool resource : {false, true}) {
      const std::vector<double> want = Training({.train = train, .resource = resource}).run(100);
      for (Strategy strategy : {Strategy::kMirrored, Strategy::kPsSync}) {
        for (int replicas : {2, 3, 9}) {  // 8 rows: 4 + 4, 3 + 3 + 2, and one replica without any
          INFO(train << " strategy " << static_cast<int>(strategy) << " on " << replicas
                     << (resource ? ", resource" : ""));
          Training training({.train = train, .resource = resource, .strategy = strategy, .gpus = replicas});
          check_close(training.run(100), want, 1e-4);
        }
      }
    }
  }
}

TEST_CASE("mirrored copies stay equal byte for byte") {
  Training training({.train = kAdam, .strategy = Strategy::kMirrored, .gpus = 3});
  training.run(30);
  for (const char* name : {"w", "b", "w/Adam", "b/Adam_1", "beta1_power"}) {
    for (int replica : {1, 2}) {
      INFO(name << " of replica " << replica);
      CHECK(same_bytes(training.variable(name), training.variable(cat(name, "/replica_", replica))));
    }
  }
  const auto& copies = training.training().copies;
  CHECK(copies.size() == 2 * (2 + 4 + 2));
  CHECK(check_replicas(training.graph(), training.session(), copies, 30).ok());
  const NodeId copy = training.graph().find("b/replica_2");
  const Tensor other = Tensor::of<float>(training.variable("b").shape(), std::vector<float>{7.0F});
  REQUIRE(training.session().set_variable(copy, other).ok());
  CHECK(check_replicas(training.graph(), training.session(), copies, 30).message() ==
        "replicas differ after step 30: 'b/replica_2' on /device:GPU:2 is not 'b' on /device:GPU:0");
}

TEST_CASE("mirrored: each replica on its device, the mean on the first") {
  Training training({.train = kAdam, .strategy = Strategy::kMirrored, .gpus = 2});
  CHECK(training.device_of("w") == "/device:GPU:0");
  CHECK(training.device_of("w/replica_1") == "/device:GPU:1");
  CHECK(training.device_of("w/Adam/replica_1") == "/device:GPU:1");
  CHECK(training.device_of("replica_0/product") == "/device:GPU:0");
  CHECK(training.device_of("replica_1/product") == "/device:GPU:1");
  CHECK(training.device_of("replica_1/gradients/replica_1/guess_grad/BiasAddGrad") == "/device:GPU:1");
  CHECK(training.device_of("AddN") == "/device:GPU:0");
  CHECK(training.device_of("split") == "/device:CPU:0");
}

TEST_CASE("ps-sync: towers on their devices, variables, mean and update on the parameter device") {
  Training training({.train = kAdam, .strategy = Strategy::kPsSync, .gpus = 2});
  for (const char* node : {"w", "w/Adam", "AddN", "truediv", "train/update_w/ApplyAdam", "split"}) {
    INFO(node);
    CHECK(training.device_of(node) == "/device:CPU:0");
  }
  CHECK(training.device_of("tower_0/product") == "/device:GPU:0");
  CHECK(training.device_of("tower_1/product") == "/device:GPU:1");
}

TEST_CASE("ps-async: each tower has its own update of the same variables") {
  Training training({.train = kAdam, .strategy = Strategy::kPsAsync, .gpus = 2});
  REQUIRE(training.training().towers.size() == 2);
  CHECK(training.device_of("tower_1/product") == "/device:GPU:1");
  CHECK(training.device_of("tower_1/train/update_w/ApplyAdam") == "/device:CPU:0");
  CHECK(training.run(50).back() < 0.5);
}

TEST_CASE("replicas on tasks of a cluster give the bytes of replicas in one process") {
  for (const nlohmann::json& train :
       {kAdam,
        nlohmann::json{{"optimizer", "momentum"}, {"momentum", 0.8}, {"learning_rate", 0.05}, {"clip_norm", 0.5}}}) {
    for (bool resource : {false, true}) {
      for (Strategy strategy : {Strategy::kMirrored, Strategy::kPsSync}) {
        for (int replicas : {2, 3}) {
          INFO(train << " strategy " << static_cast<int>(strategy) << " on " << replicas
                     << (resource ? ", resource" : ""));
          Training here({.train = train, .resource = resource, .strategy = strategy, .gpus = replicas});
          const std::vector<double> want = here.run(20);
          for (const std::string ps : {"", "ps=1,", "ps=2,"}) {
            Training there(
                {.train = train, .resource = resource, .strategy = strategy, .jobs = cat(ps, "worker=", replicas)});
            CHECK(there.run(20) == want);
            for (const char* name : {"w", "b"}) CHECK(same_bytes(here.variable(name), there.variable(name)));
          }
        }
      }
    }
  }
}

TEST_CASE("on a cluster: towers on workers, variables and their slots on the ps tasks in turn, or where --ps says") {
  const std::string ps0 = "/job:ps/replica:0/task:0", ps1 = "/job:ps/replica:0/task:1";
  Training training({.train = kAdam, .strategy = Strategy::kPsSync, .jobs = "ps=2,worker=2"});
  for (const char* node : {"w", "w/Adam", "w/Adam_1", "train/update_w/ApplyAdam", "AddN"}) {
    INFO(node);
    CHECK(training.task_of(node) == ps0);
  }
  // Powers lie with the variable whose name is the first.
  for (const char* node : {"b", "b/Adam", "train/update_b/ApplyAdam", "AddN_1", "beta1_power"}) {
    INFO(node);
    CHECK(training.task_of(node) == ps1);
  }
  CHECK(training.task_of("tower_0/product") == "/job:worker/replica:0/task:0");
  CHECK(training.task_of("tower_1/product") == "/job:worker/replica:0/task:1");
  CHECK(training.task_of("split") == "/job:worker/replica:0/task:0");
  Training pinned({.train = kAdam, .strategy = Strategy::kPsSync, .jobs = "ps=2,worker=2", .ps = "/job:ps/task:1"});
  CHECK(pinned.task_of("w") == ps1);
  CHECK(pinned.task_of("b") == ps1);
  // w, the larger one, is the first worker's to sum, and b another one's.
  Training mirrored({.train = kAdam, .strategy = Strategy::kMirrored, .jobs = "worker=3"});
  CHECK(mirrored.task_of("AddN") == "/job:worker/replica:0/task:0");
  CHECK(mirrored.task_of("AddN_1") == "/job:worker/replica:0/task:1");
  Training gpus({.train = kAdam, .strategy = Strategy::kMirrored, .gpus = 2, .jobs = "worker=2"});
  CHECK(gpus.device_of("replica_3/product") == "/device:GPU:1");
  CHECK(gpus.task_of("replica_3/product") == "/job:worker/replica:0/task:1");
}

}  // namespace emplace
