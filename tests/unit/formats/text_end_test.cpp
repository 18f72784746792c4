// No reader looks behind the end of its text, where a mapped file may end with its last page.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "core/formats/json_reader.h"
#include "core/formats/proto_source.h"
#include "core/graph/graph_file.h"
#include "core/tensor/json_tensor.h"
#include "core/tensor/npy.h"
#include "core/train/csv.h"

using namespace emplace;

namespace {

/// A text behind which there is a page that nobody may read.
class AtPageEnd {
 public:
  explicit AtPageEnd(std::string_view text) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t pages = (text.size() + page - 1) / page * page;
    size_ = pages + page;
    start_ = static_cast<char*>(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(start_ != MAP_FAILED);
    REQUIRE(::mprotect(start_ + pages, page, PROT_NONE) == 0);
    text_ = {start_ + pages - text.size(), text.size()};
    std::memcpy(start_ + pages - text.size(), text.data(), text.size());
  }
  ~AtPageEnd() { ::munmap(start_, size_); }
  AtPageEnd(const AtPageEnd&) = delete;
  std::string_view text() const { return text_; }

 private:
  char* start_;
  size_t size_;
  std::string_view text_;
};

/// `read` with every beginning of a text, and with each followed by a few bytes that begin something.
template <class F>
void with_every_end(std::string_view whole, const F& read) {
  for (size_t size = 0; size <= whole.size(); ++size) {
    for (std::string_view tail : {"", "\"", "\\", "-", "[", "{", "/", "\xe2", "\n", "0", "\"\\u12"}) {
      const AtPageEnd end(std::string(whole.substr(0, size)) + std::string(tail));
      read(end.text());
    }
  }
}

constexpr std::string_view kGraph = R"({"node": [{"name": "a\u00e9", "op": "Const", // é
  "attr": {"value": [[1.5e1, -2], [true, "NaN"]], "s": null}}, /* b */ {"name": "b", "input": ["^a"]}]})";

constexpr std::string_view kGraphText = R"(node { name: "a\303\251" op: 'Const' # c
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: -1.5e0 } } } })";

void load_text(const std::shared_ptr<const Source>& source) {
  Problems problems;
  load(source, {}, problems);
  static_cast<void>(problems.to_string(*source));
}

}  // namespace

TEST_CASE("a graph's text may end at the end of a page") {
  with_every_end(kGraph, [](std::string_view text) { load_text(std::make_shared<NamedText>("g.json", text)); });
  with_every_end(kGraphText, [](std::string_view text) {
    load_text(
        std::make_shared<ProtoSource>(std::make_shared<NamedText>("g.pbtxt", text), GraphFormat::kGraphDef, false));
  });
}

TEST_CASE("what is no JSON is passed over within its text") {
  for (std::string_view text :
       {std::string_view("\0\0\0\0", 4), std::string_view("\x1f\x8b"), std::string_view("\xff\xfe{")}) {
    const AtPageEnd end(text);
    Problems problems;
    TextArena arena;
    JsonReader reader(end.text(), problems, arena);
    reader.skip();
    CHECK(problems.list().size() == 1);
  }
}

TEST_CASE("tensors and tables may end at the end of a page") {
  with_every_end("[[1, -2.5e3], [\"NaN\", \"x\\n\"]]", [](std::string_view text) {
    for (DType type : {DType::kFloat, DType::kString}) static_cast<void>(parse_json_tensor(text, type, "t"));
  });
  with_every_end(std::string_view("\x93NUMPY\x01\0\x10\0{'descr':'<f4'}", 26), [](std::string_view text) {
    static_cast<void>(parse_npy(text, "t"));
    static_cast<void>(parse_npz(text, "t"));
  });
  with_every_end("a,\"b\"\"c\"\r\n1,2\n\"3\",4", [](std::string_view text) {
    Problems problems;
    read_csv(NamedText("t.csv", text), std::nullopt, {{"0", "x", DType::kFloat, 1, 0}}, problems);
  });
}
