// Damaged and wrong files: all problems in one pass, each where it is, with what to do.
#include <catch2/catch.hpp>

#include "core/base/cat.h"
#include "tests/unit/formats/loading.h"

using namespace emplace;

namespace {

std::string error(const std::string& text) { return Loaded(text).error(); }
std::string node_error(const std::string& nodes) { return error(cat("{\"node\": [", nodes, "]}")); }

}  // namespace

TEST_CASE("a message has file, line, column, the source line, a caret and a hint") {
  Loaded f(
      "{\n  \"node\": [\n    {\"name\": \"a\", \"op\": \"Relu\", \"input\": [\"bb\"]},\n    {\"name\": \"bbb\", "
      "\"op\": \"NoOp\"}\n  ]\n}\n");
  CHECK(f.errors() ==
        "g.json:3:44: no node is named 'bb', which 'a' reads\n"
        "    {\"name\": \"a\", \"op\": \"Relu\", \"input\": [\"bb\"]},\n"
        "                                           ^\n"
        "  hint: did you mean 'bbb'?\n");
}

TEST_CASE("all problems of a file are found in one pass") {
  Loaded f(
      R"({"node": [{"name": "a", "op": "NoOp", "colour": 1}, {"name": "a", "op": "NoOp"}, {"op": "NoOp"}, {"name": "b"},
    {"name": "c", "op": "NoOp", "input": ["x", "y:1", 3.5, "x", "^z"]}, {"name": "d d", "op": "NoOp"}, 7, {"name": "e", "op": "NoOp", "attr": {"k": {"zz": 1}}}],
    "fetsch": ["a"], "config": {"allow_soft": true}})");
  std::vector<std::string> messages;
  for (const Problem& p : f.problems().list()) messages.push_back(p.message);
  CHECK(messages ==
        std::vector<std::string>{"unknown key 'colour' in a node", "a second node named 'a'", "a node without a name",
                                 "a node without an op", "name 'd d' has a character that names cannot have there: ' '",
                                 "a node: found a number, wanted an object", "unknown key 'zz' in an attr value",
                                 "unknown key 'fetsch' in a graph file", "unknown key 'allow_soft' in config",
                                 "no node is named 'x', which 'c' reads", "no node is named 'y', which 'c' reads",
                                 "no node is named 'z', which 'c' reads"});
}

TEST_CASE("text that is not JSON ends in one problem at its place") {
  CHECK(error("") == "the file is empty; wanted a graph");
  CHECK(error(" // nothing\n") == "the file ends where a value should begin");
  CHECK(error("[]") == "a graph file: found a list, wanted an object");
  CHECK(error("{\"node\": [{\"name\": \"a\"") == "the file ends inside the object that began in line 1");
  CHECK(error("{} {}") == "found '{' after the end of the graph");
  CHECK(error("{\"node\": [{\"name\": \"a\" \"op\": 1}]}") ==
        "found '\"' where an object should go on with ',' or end with '}'");
  CHECK(error("{\"node\": [],}") == "a comma before '}'");
  CHECK(error("{\"node\": [{\"name\": \"\xff\", \"op\": \"x\"}]}") == "found byte 0xff in a text: not UTF-8");
  CHECK(error("{\"node\": [{\"name\": \"a\", \"op\": NaN}]}") == "found 'N' where a value should begin");
  CHECK(error("{\"train\": [[1, 2}]}") == "found '}' where a list should go on with ',' or end with ']'");
}

TEST_CASE("every cut of a file is an error, never a crash") {
  const std::string text =
      R"({"node": [{"device": "/gpu:0", "scope": "s", "node": [{"name": "w", "op": "Variable", "initial_value": [[1, 2], [3, 4]]}]},
    {"name": "c", "op": "Const", "attr": {"value": {"tensor": {"dtype": "DT_FLOAT", "tensorShape": {"dim": [{"size": "2"}]}, "floatVal": [1]}}, "_class": ["loc:@x"]}},
    {"name": "m", "op": "Mean", "input": ["s/w", [0], "^c"]}], "op_def": [{"name": "Q", "attr": [{"name": "a", "type": "int", "default_value": {"i": "3"}}]}],
    "library": {"function": [{"signature": {"name": "f"}, "nodeDef": [{"name": "n", "op": "NoOp"}]}]}, "cluster": {"worker": ["a:1"]},
    "feed": {"c": 1}, "config": {"gpu_options": {"experimental": {"virtual_devices": [{"memory_limit_mb": [1]}]}}}, "versions": {"producer": 1}})";
  REQUIRE(Loaded(text).errors() == "");
  for (size_t size = 0; size < text.size(); ++size) CHECK_FALSE(Loaded(text.substr(0, size)).problems().empty());
}

TEST_CASE("names, inputs and keys are checked") {
  CHECK(node_error(R"({"name": "a/", "op": "NoOp"})").empty());
  CHECK(node_error(R"({"name": "/a", "op": "NoOp"})") == "name '/a' has a character that names cannot have there: '/'");
  CHECK(node_error(R"({"name": "a:0", "op": "NoOp"})") ==
        "name 'a:0' has a character that names cannot have there: ':'");
  CHECK(node_error(R"({"name": "a", "op": "NoOp", "input": [""]})") == "input '' names no tensor");
  CHECK(node_error(R"({"name": "a", "op": "NoOp", "input": ["a:x"]})") == "input 'a:x' names no tensor");
  CHECK(node_error(R"({"name": "a", "op": "NoOp", "input": ["^a:1"]})") == "input '^a:1' names no tensor");
  CHECK(node_error(R"({"name": "a", "op": "NoOp", "input": ["a:4294967296"]})") ==
        "input 'a:4294967296' names no tensor");
  CHECK(node_error(R"({"name": "b", "op": "NoOp"}, {"name": "a", "op": "NoOp", "input": ["^b", "b"]})") ==
        "a data input after a control input");
  CHECK(node_error(R"({"name": "a", "op": "NoOp", "input": [null]})") == "found null in input");
  CHECK(node_error(R"({"name": "a", "op": "NoOp", "op": "NoOp"})") == "key 'op' stands twice in a node");
  CHECK(node_error(R"({"name": "a", "op": "NoOp", "input": "b"})") == "input: found text, wanted a list");
  CHECK(node_error(R"({"name": 1, "op": "NoOp"})") == "name: found a number, wanted text");
  CHECK(node_error(R"({"node": [], "op": "NoOp"})") == "a block of nodes with the key 'op'");
  CHECK(node_error(R"({"device": "nonsense", "node": [{"name": "a", "op": "NoOp", "device": "/cpu:0"}]})") ==
        "device '/cpu:0' inside a block whose device 'nonsense' is not a device name");
}

TEST_CASE("what goes deep ends in a message") {
  std::string blocks, close;
  for (int i = 0; i < 70; ++i) blocks += "{\"node\": [", close += "]}";
  CHECK(node_error(blocks + close) == "more than 64 blocks inside each other");
  std::string lists(2000, '[');
  CHECK(error("{\"train\": " + lists) == "more than 1000 lists and objects inside each other");
  std::string dims(300, '['), ends(300, ']');
  CHECK(node_error(cat(R"({"name": "c", "op": "Const", "attr": {"value": )", dims, "1", ends, "}}")) ==
        "more than 254 dimensions");
}

TEST_CASE("a file may name only files of its folder") {
  auto file_error = [](const char* value) {
    return node_error(cat(R"({"name": "c", "op": "Const", "attr": {"value": )", value, "}}"));
  };
  CHECK(file_error(R"({"file": "/etc/passwd"})") == "file '/etc/passwd' lies outside the graph file's folder");
  CHECK(file_error(R"({"file": "../../../../../../../../../../etc/passwd"})") ==
        "file '../../../../../../../../../../etc/passwd' lies outside the graph file's folder");
  CHECK(file_error(R"({"file": "not_there.npy"})") == "no file 'not_there.npy'");
  CHECK(file_error(R"({"file": "a\u0000b"})") == "a file name with a NUL character");
}
