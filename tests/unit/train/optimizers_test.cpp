// Optimizers, schedules and clipping against curves that TensorFlow and Keras recorded.
#include "core/base/cat.h"
#include "tests/unit/train/training_fixture.h"

namespace emplace {

TEST_CASE("every optimizer gives TensorFlow's curve, with reference and resource variables") {
  for (const auto& recorded : optimizer_curves()["cases"]) {
    for (bool resource : {false, true}) {
      INFO(recorded["train"] << " " << recorded["dtype"] << (resource ? ", resource" : ""));
      Training training({.train = recorded["train"], .dtype = recorded["dtype"], .resource = resource});
      const auto want = recorded["loss"].get<std::vector<double>>();
      check_close(training.run(static_cast<int>(want.size())), want, 2e-5);
      check_close(training.values("w"), recorded["w"], 2e-4);
      check_close(training.values("b"), recorded["b"], 2e-4);
    }
  }
}

TEST_CASE("slots have TensorFlow's names") {
  auto has = [](const char* optimizer, double rate, std::vector<std::string> names,
                nlohmann::json more = nlohmann::json::object()) {
    nlohmann::json train = more;
    train["optimizer"] = optimizer;
    train["learning_rate"] = rate;
    Training training({.train = train});
    for (const std::string& name : names) {
      INFO(optimizer << " " << name);
      CHECK(training.graph().find(name) != kNoNode);
    }
  };
  has("adam", 0.1,
      {"w/Adam", "w/Adam_1", "b/Adam", "beta1_power", "beta2_power", "train", "train/update_w/ApplyAdam", "init"});
  has("rmsprop", 0.1, {"w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"}, {{"centered", true}});
  has("adamw", 0.1, {"adam_w/w_momentum", "adam_w/w_velocity", "adam_w/iteration"});
}

}  // namespace emplace
