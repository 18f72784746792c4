// Runs a fuzz target without libFuzzer: every file of its corpus, then mutations of them with a fixed seed. All targets
// are one program, since with sanitizers linking a program takes longer than compiling a target. usage: emplace_replay
// TARGET [CORPUS_DIR [MUTATIONS]]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

// EMPLACE_FUZZ_TARGETS is `TARGET(csv) TARGET(npy) ...`: tests/fuzz.cmake gives the function of each file a name of its
// own.
#define TARGET(name) extern "C" int fuzz_##name(const uint8_t* data, size_t size);
EMPLACE_FUZZ_TARGETS
#undef TARGET

namespace {

using Target = int (*)(const uint8_t* data, size_t size);
using Random = std::mt19937;

Target find_target(const std::string& wanted) {
#define TARGET(name) \
  if (wanted == #name) return fuzz_##name;
  EMPLACE_FUZZ_TARGETS
#undef TARGET
  return nullptr;
}

std::vector<std::string> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    inputs.emplace_back((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  return inputs;
}

/// Without the NUL that the string has behind it: a byte too far is outside of what was allocated.
void run(Target target, const std::string& input) {
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  target(bytes.data(), bytes.size());
}

size_t below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }

// Flips, drops, doubles or cuts a few bytes, or splices a piece of another input in.
void mutate(std::string& text, const std::vector<std::string>& corpus, Random& random) {
  for (size_t changes = 1 + below(random, 4); changes > 0; --changes) {
    size_t at = below(random, text.size() + 1);
    const std::string& other = corpus[below(random, corpus.size())];
    size_t from = below(random, other.size()), length = 1 + below(random, 16);
    switch (random() % 6) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(below(random, text.size()), length));
        break;
      case 4:
        text.insert(at, other.substr(from, length));
        break;
      case 5:
        text.resize(at);
        break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const Target target = find_target(name);
  if (target == nullptr) return std::fprintf(stderr, "'%s' is not a fuzz target\n", name.c_str()), 2;
  std::vector<std::string> corpus = read_corpus(argc > 2 ? argv[2] : EMPLACE_CORPORA "/" + name);
  size_t mutations = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 20000;
  if (corpus.empty()) return std::fprintf(stderr, "empty corpus\n"), 1;
  for (const std::string& input : corpus) run(target, input);
  Random random(1);
  for (size_t i = 0; i < mutations; ++i) {
    std::string text = corpus[i % corpus.size()];
    mutate(text, corpus, random);
    run(target, text);
  }
  std::printf("%zu inputs, %zu mutations\n", corpus.size(), mutations);
}
