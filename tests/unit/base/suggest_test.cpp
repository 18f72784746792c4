#include "core/base/suggest.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace emplace;

TEST_CASE("edit distance counts letters twice, case and nothing else once") {
  CHECK(edit_distance("MatMul", "MatMul", 10) == 0);
  CHECK(edit_distance("Matmul", "MatMul", 10) == 1);
  CHECK(edit_distance("Sofmax", "Softmax", 10) == 2);
  CHECK(edit_distance("Sofmtax", "Softmax", 10) == 2);
  CHECK(edit_distance("abc", "xyz", 10) == 6);
  CHECK(edit_distance("abc", "", 10) == 6);
  CHECK(edit_distance("abcdef", "a", 4) == 5);
}

TEST_CASE("edit distance of words that begin and end the same, and of long ones near the limit") {
  const std::string same(100, 'x');
  CHECK(edit_distance(same + "ab" + same.substr(80), same + "ba" + same.substr(80), 8) == 2);
  CHECK(edit_distance(same + "1", same + "23", 8) == 4);
  CHECK(edit_distance("abcabcabc", "bcabcabca", 8) == 4);  // one off in front, one at the end
  CHECK(edit_distance("abcabcabc", "cabcabcab", 3) == 4);
  CHECK(edit_distance("abab", "baba", 8) == 4);
}

TEST_CASE("the nearest word is suggested, a strange one is not") {
  const std::vector<std::string_view> ops{"Softmax", "Softplus", "MatMul", "Relu"};
  CHECK(did_you_mean("Sofmax", ops) == "did you mean 'Softmax'?");
  CHECK(did_you_mean("relu", ops) == "did you mean 'Relu'?");
  CHECK(did_you_mean("Convolution", ops).empty());
  CHECK(did_you_mean("", ops).empty());
}
