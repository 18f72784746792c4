#include "cli/other_words.h"

#include <algorithm>

namespace emplace {
namespace {

constexpr std::string_view kGpus =
    "--visible-devices 0,1 chooses among the machine's GPUs, --simulate-gpus N simulates some";
constexpr std::string_view kThreads = "write --intra-op-threads N", kSoft = "write --allow-soft-placement",
                           kGrowth = "write --allow-growth, which is the default",
                           kCurves = "--log-csv FILE writes the numbers of a training, --plot FILE draws them";

constexpr OtherWord kWords[] = {
    {"gpu", "visible-devices", kGpus},
    {"gpus", "visible-devices", kGpus},
    {"num-gpus", "visible-devices", kGpus},
    {"cpu", "place", "--place '.*=/cpu:0' asks for the CPU for every node"},
    {"threads", "intra-op-threads", kThreads},
    {"num-threads", "intra-op-threads", kThreads},
    {"intra-op-parallelism-threads", "intra-op-threads", kThreads},
    {"inter-op-parallelism-threads", "inter-op-threads", "write --inter-op-threads N"},
    {"json", "format", "write --format json"},
    {"input", "feed", "--feed NAME=VALUE gives a tensor"},
    {"inputs", "feed", "--feed NAME=VALUE gives a tensor"},
    {"outputs", "fetch", "--fetch NAME prints a tensor"},
    {"output", "save", "--save FILE.npz saves what is fetched"},
    {"soft-placement", "allow-soft-placement", kSoft},
    {"set-soft-device-placement", "allow-soft-placement", kSoft},
    {"per-process-gpu-memory-fraction", "memory-fraction", "write --memory-fraction 0.5"},
    {"memory-growth", "allow-growth", kGrowth},
    {"set-memory-growth", "allow-growth", kGrowth},
    {"lr", "learning-rate", "write --learning-rate X"},
    {"profile", "trace", "--trace FILE writes what ran when"},
    {"tensorboard", "plot", kCurves},
    {"logdir", "plot", kCurves},
};

}  // namespace

const OtherWord* other_word(std::string_view word) {
  const auto* at =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const OtherWord& w) { return w.word == word; });
  return at == std::end(kWords) ? nullptr : at;
}

}  // namespace emplace
