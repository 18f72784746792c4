// Blocks of recurrent layers: the same bytes however many rows share one, and however the weights lie.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/isa_limit.h"
#include "core/ops/recurrent/recurrent_block.h"
#include "core/tensor/tensor.h"
#include "tests/unit/ops/pattern.h"

using namespace emplace;
using namespace emplace::testing;

namespace {

struct Layer {
  RecurrentKind kind;
  int64_t steps, batch, hidden;
  bool reverse;

  int64_t width() const { return gates_of(kind) * hidden; }
};

/// y, then the last states, of all rows, `most` of them in a block.
std::vector<float> run(const Layer& l, int64_t most, bool panels) {
  const Tensor x = pattern<float>({l.steps * l.batch * l.width()}, 1), r = pattern<float>({l.hidden * l.width()}, 2),
               bias = pattern<float>({l.hidden}, 3), h = pattern<float>({l.batch * l.hidden}, 4),
               c = pattern<float>({l.batch * l.hidden}, 5);
  std::vector<float> packed(static_cast<size_t>(RecurrentWeights::packed_size(l.kind, l.hidden)), -9.0f),
      room(static_cast<size_t>(recurrent_room(l.kind, l.hidden))),
      out(static_cast<size_t>((l.steps + 2) * l.batch * l.hidden));
  if (panels) RecurrentWeights::pack(l.kind, l.hidden, r.data<float>(), packed.data());
  RecurrentBlock b{};
  b.steps = l.steps, b.batch = l.batch, b.hidden = l.hidden, b.reverse = l.reverse;
  b.x = x.data<float>(), b.bias = bias.data<float>(), b.h = h.data<float>(), b.c = c.data<float>();
  b.r = panels ? RecurrentWeights::of_panels(l.kind, l.hidden, packed.data())
               : RecurrentWeights::as_they_lie(l.kind, l.hidden, r.data<float>());
  b.y = out.data(), b.h_last = b.y + l.steps * l.batch * l.hidden, b.c_last = b.h_last + l.batch * l.hidden;
  b.room = room.data();
  for (; b.first < l.batch; b.first += most) {
    b.rows = std::min(most, l.batch - b.first);
    for (int64_t m = 0; m < b.rows; ++m) b.lengths[m] = l.steps - (l.reverse ? (b.first + m) % 3 : 0);
    recurrent_code(l.kind)(b);
  }
  return out;
}

bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a recurrent layer's row has the same bytes alone and beside others, its weights in panels or as they lie") {
  for (const char* word : {"", "v3", "base"}) {
    const IsaLimit limit(named_isa(word));
    for (const RecurrentKind kind : {RecurrentKind::kRnnTanh, RecurrentKind::kRnnRelu, RecurrentKind::kGru,
                                     RecurrentKind::kGruLinear, RecurrentKind::kLstm}) {
      for (const int64_t hidden : {1, 5, 8, 16, 23, 32, 33, 40, 64, 77}) {
        for (const bool reverse : {false, true}) {
          const Layer layer{kind, 4, 15, hidden, reverse};  // blocks of 8, 4, 2 and 1
          const std::vector<float> plain = run(layer, 1, false);
          INFO("isa '" << word << "', kind " << static_cast<int>(kind) << ", hidden " << hidden);
          for (const int64_t most : {1, 2, 3, 4, 8}) CHECK(same_bytes(run(layer, most, true), plain));
          CHECK(same_bytes(run(layer, 8, false), plain));
        }
      }
    }
  }
}
