// The grammar, the relations and the merge rules of device names. The cases are those of TensorFlow's
// device_name_utils_test.cc and what its parser does with odd input.
#include "core/device/device_name.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace emplace {
namespace {

DeviceName name(std::string_view text) {
  INFO(text);
  auto parsed = DeviceName::parse(text);
  REQUIRE(parsed);
  return *parsed;
}

std::string canonical(std::string_view text) { return name(text).to_string(); }

std::string merged(std::string_view target, std::string_view other, MergeMode mode) {
  DeviceName t = name(target);
  Status status = merge(t, name(other), mode);
  return status.ok() ? t.to_string() : status.message();
}

using Pairs = std::vector<std::pair<const char*, const char*>>;

TEST_CASE("device names are read in any order and printed canonically") {
  for (auto [text, expected] : Pairs{
           {"", ""},
           {"/", ""},
           {"/job:foo_bar/replica:1/task:2/gpu:3", "/job:foo_bar/replica:1/task:2/device:GPU:3"},
           {"/job:foo_bar/replica:1/task:2/device:GPU:3", "/job:foo_bar/replica:1/task:2/device:GPU:3"},
           {"/gpu:3/task:2/replica:1/job:foo_bar", "/job:foo_bar/replica:1/task:2/device:GPU:3"},
           {"/job:*/replica:4/gpu:*", "/replica:4/device:GPU:*"},
           {"/gpu:*/job:*/replica:4", "/replica:4/device:GPU:*"},
           {"/job:*/device:GPU/replica:4", "/replica:4/device:GPU:*"},
           {"/job:*/replica:4/device:myspecialdevice:13", "/replica:4/device:myspecialdevice:13"},
           {"/job:*/replica:4/gpu:5", "/replica:4/device:GPU:5"},
           {"/device:GPU", "/device:GPU:*"},
           {"/device:*", ""},
           {"/device:*:3", ""},
           {"/device:gpu:0", "/device:gpu:0"},
           {"/gpu:007", "/device:GPU:7"},
           {"/CPU:0", "/device:CPU:0"},
           {"/GPU:1", "/device:GPU:1"},
           {"/gpu:0/cpu:1", "/device:CPU:1"},
           {"/job:a/job:b", "/job:b"},
           {"/job:a/job:*", ""},
           {"/device:GPU:1/device:GPU", "/device:GPU:*"},
           {"/device:GPU:1/device:*", ""},
           {"/replica:1/replica:*/task:2", "/task:2"},
           {"/gpu:2147483647", "/device:GPU:2147483647"},
       }) {
    CHECK(canonical(text) == expected);
  }
}

TEST_CASE("an id without a type is kept though it is not printed") {
  DeviceName any_third = name("/device:*:3");
  CHECK(!any_third.type);
  CHECK(any_third.id == 3);
  CHECK(any_third.matches(name("/job:a/replica:0/task:0/gpu:3")));
  CHECK_FALSE(any_third.matches(name("/job:a/replica:0/task:0/gpu:2")));
}

TEST_CASE("malformed device names are refused") {
  for (const char* text : {"foobar",
                           "cpu:0",
                           "/foo:bar",
                           "//",
                           "/gpu",
                           "/gpu:",
                           "/Gpu:0",
                           "/gpu:1a",
                           "/device:",
                           "/device:GPU:",
                           "/device:GPU:-1",
                           "/device:GPU:+1",
                           "/device:GPU:0:1",
                           "/device:1GPU:0",
                           "/device:GP-U:0",
                           "/job:123/replica:1",
                           "/job:1a",
                           "/job:a-b",
                           "/job:",
                           "/job:*foo",
                           "/job:a:b",
                           "/job:a/",
                           "/job:_a",
                           "/replica:",
                           "/task:x",
                           "/job:foo/replica:-1/task:2/gpu:3",
                           "/job:foo/replica:1/task:-2/gpu:3",
                           "/job:foo/replica:1/task:2/bar:3",
                           "/job:foo/replica:1/task:2/gpu:3/extra",
                           "/job:123/replica:1/task:2/gpu:3",
                           "/gpu:0 ",
                           " /gpu:0",
                           "/gpu: 0",
                           "/gpu:99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(DeviceName::parse(text));
  }
}

TEST_CASE("numbers beyond a 32-bit int are malformed") {
  CHECK_FALSE(DeviceName::parse("/gpu:2147483648"));
  CHECK_FALSE(DeviceName::parse("/gpu:4294967296"));
  CHECK_FALSE(DeviceName::parse_local("GPU:4294967296"));
}

TEST_CASE("local names are a type and a number") {
  auto cpu10 = DeviceName::parse_local("CPU:10");
  REQUIRE(cpu10);
  CHECK(cpu10->type == "CPU");
  CHECK(cpu10->id == 10);
  CHECK(DeviceName::parse_local("cpu:10")->type == "cpu");
  for (const char* text :
       {"cpu:abc", "abc:", "abc", "myspecialdevice", "", ":", ":1", "*:1", "CPU:*", "CPU:1x", "/CPU:1", "CPU:1/"}) {
    INFO(text);
    CHECK_FALSE(DeviceName::parse_local(text));
  }
}

TEST_CASE("every subset of the fields survives parsing and printing") {
  for (int subset = 0; subset < 8; ++subset) {
    std::string task =
        std::string(subset & 1 ? "/job:foo" : "") + (subset & 2 ? "/replica:3" : "") + (subset & 4 ? "/task:2" : "");
    CHECK(canonical(task) == task);
    for (auto [device, expected] : Pairs{{"/CPU:3", "/device:CPU:3"},
                                         {"/GPU:3", "/device:GPU:3"},
                                         {"/cpu:3", "/device:CPU:3"},
                                         {"/gpu:3", "/device:GPU:3"},
                                         {"/device:CPU:3", "/device:CPU:3"},
                                         {"/device:GPU:3", "/device:GPU:3"},
                                         {"/device:cpu:3", "/device:cpu:3"},
                                         {"/device:gpu:3", "/device:gpu:3"},
                                         {"/device:someDevice:3", "/device:someDevice:3"}}) {
      CHECK(canonical(task + device) == task + expected);
    }
  }
}

TEST_CASE("a name splits into task and device") {
  for (const char* text : {"/job:foo/replica:1/task:2/cpu:1", "/job:foo/cpu:1/task:2/replica:1"}) {
    CHECK(name(text).task_name() == "/job:foo/replica:1/task:2");
    CHECK(name(text).local_name() == "/device:CPU:1");
  }
  CHECK(name("/device:GPU:3").task_name().empty());
  CHECK(name("/device:GPU:3").local_name() == "/device:GPU:3");
  CHECK(name("/device:myspecialdevice:3").local_name() == "/device:myspecialdevice:3");
  CHECK(name("/job:foo/task:2/replica:1").local_name().empty());
  CHECK(name("/job:foo/replica:1/task:2/device:abc:73").local_name() == "/device:abc:73");
}

TEST_CASE("address spaces are compared by job, replica and task") {
  DeviceName cpu = name("/job:foo/replica:1/task:2/cpu:3");
  CHECK(cpu.same_address_space(name("/job:foo/replica:1/task:2/device:GPU:4")));
  for (const char* other :
       {"/job:foo/replica:1/task:3/cpu:3", "/job:foo/replica:10/task:2/cpu:3", "/job:bar/replica:1/task:2/cpu:3"}) {
    CHECK_FALSE(cpu.same_address_space(name(other)));
    CHECK(cpu.different_address_space(name(other)));
  }
  CHECK_FALSE(cpu.same_address_space(name("/job:foo/replica:1/gpu:0")));
  CHECK_FALSE(cpu.different_address_space(name("/job:foo/replica:1/gpu:0")));
}

TEST_CASE("a pattern matches a complete name") {
  DeviceName full = name("/job:work/replica:1/task:2/device:GPU:3");
  for (const char* pattern : {"", "/job:*", "/job:*/replica:*", "/job:*/task:*", "/job:*/replica:*/task:*",
                              "/job:*/replica:*/gpu:*", "/gpu:*"}) {
    CHECK(name(pattern).matches(full));
  }
  CHECK_FALSE(name("/cpu:*").matches(full));
  CHECK_FALSE(name("/device:GPU:2").matches(name("/job:work/replica:1/task:2/device:GPU:1")));
  CHECK_FALSE(name("/job:work").matches(name("/job:work/replica:1/task:2")));  // not complete
}

TEST_CASE("one specification refines another") {
  const char* full = "/job:work/replica:1/task:2/device:GPU:3";
  for (auto [less, more] : Pairs{{"/job:*", full},
                                 {"/job:*", "/job:work/replica:1/device:GPU:3"},
                                 {"/job:*", "/job:work/replica:1"},
                                 {"/job:*", "/replica:1"},
                                 {"/job:*", "/job:work"},
                                 {"/job:*/replica:*", full},
                                 {"/job:work/replica:1/gpu:*", full},
                                 {"/job:work/replica:1/device:GPU:3", full},
                                 {"/job:work/replica:1/task:2", full},
                                 {"/job:work/replica:*/task:2", full},
                                 {"/gpu:*", full},
                                 {"/task:*", "/job:*/replica:1/task:2/device:GPU:3"},
                                 {"/task:2", "/job:*/replica:1/task:2/device:GPU:3"},
                                 {"/cpu:*", "/job:*/replica:1/task:2/cpu:1"},
                                 {"/cpu:0", "/cpu:0"}}) {
    INFO(less << " " << more);
    CHECK(name(less).is_specification_of(name(more)));
  }
  for (auto [less, more] : Pairs{{full, "/gpu:*"},
                                 {"/cpu:*", "/job:*/replica:1/task:2"},
                                 {"/cpu:*", full},
                                 {"/device:GPU:2", "/job:*/replica:1/task:2/device:GPU:1"},
                                 {"/job:work/replica:*/task:0", full},
                                 {"/job:work/replica:0/task:2", "/job:work/replica:*/task:2/device:GPU:3"}}) {
    INFO(less << " " << more);
    CHECK_FALSE(name(less).is_specification_of(name(more)));
  }
}

TEST_CASE("names are compatible unless a field that both have differs") {
  CHECK(name("/job:a").compatible_with(name("/gpu:1")));
  CHECK(name("").compatible_with(name("/gpu:1")));
  CHECK(name("/gpu:*").compatible_with(name("/gpu:1")));
  CHECK_FALSE(name("/job:a/gpu:1").compatible_with(name("/job:b/gpu:1")));
  CHECK_FALSE(name("/gpu:0").compatible_with(name("/gpu:1")));
  CHECK_FALSE(name("/gpu:0").compatible_with(name("/cpu:0")));
}

TEST_CASE("fields of one name overwrite those of another") {
  DeviceName more = name("/job:a/task:1/gpu:0");
  more.ensure_specification(name("/task:2/replica:7/cpu:*"));
  CHECK(more.to_string() == "/job:a/replica:7/task:2/device:CPU:0");
}

const Pairs kFree = {{"/job:foo", "/job:foo"},
                     {"/replica:2", "/replica:2"},
                     {"/task:7", "/task:7"},
                     {"/device:GPU:1", "/device:GPU:1"},
                     {"/gpu:*", "/device:GPU:*"}};

TEST_CASE("names without a conflict merge the same way in every mode") {
  for (MergeMode mode : {MergeMode::kStrict, MergeMode::kSoft, MergeMode::kOverride}) {
    CHECK(merged("", "", mode).empty());
    for (auto [text, expected] : kFree) {
      CHECK(merged("", text, mode) == expected);
      CHECK(merged(text, "", mode) == expected);
      CHECK(merged(text, text, mode) == expected);
    }
    struct Case {
      const char *a, *b, *expected;
    };
    for (auto [a, b, expected] :
         {Case{"/job:foo", "/task:7", "/job:foo/task:7"}, Case{"/job:foo", "/device:GPU:1", "/job:foo/device:GPU:1"},
          Case{"/job:foo/replica:0", "/replica:0/task:1", "/job:foo/replica:0/task:1"},
          Case{"/device:GPU:1", "/gpu:*", "/device:GPU:1"}}) {
      CHECK(merged(a, b, mode) == expected);
      CHECK(merged(b, a, mode) == expected);
    }
  }
}

TEST_CASE("conflicts are errors in strict mode") {
  struct Case {
    const char *a, *b, *a_text, *b_text, *what;
  };
  for (auto [a, b, a_text, b_text, what] : {Case{"/job:foo", "/job:bar", "/job:foo", "/job:bar", "jobs"},
                                            Case{"/replica:0", "/replica:1", "/replica:0", "/replica:1", "replicas"},
                                            Case{"/task:0", "/task:1", "/task:0", "/task:1", "tasks"},
                                            Case{"/gpu:*", "/cpu:*", "/device:GPU:*", "/device:CPU:*", "types"},
                                            Case{"/gpu:0", "/gpu:1", "/device:GPU:0", "/device:GPU:1", "ids"}}) {
    std::string text = std::string("Cannot merge devices with incompatible ") + what + ": '";
    CHECK(merged(a, b, MergeMode::kStrict) == text + a_text + "' and '" + b_text + "'");
    CHECK(merged(b, a, MergeMode::kStrict) == text + b_text + "' and '" + a_text + "'");
  }
}

TEST_CASE("a merge error shows the target with the fields merged before the conflict") {
  CHECK(merged("/gpu:0", "/job:a/gpu:1", MergeMode::kStrict) ==
        "Cannot merge devices with incompatible ids: '/job:a/device:GPU:0' and '/job:a/device:GPU:1'");
}

TEST_CASE("soft placement drops conflicting types and ids, never jobs, replicas and tasks") {
  for (auto [a, b] : Pairs{{"/gpu:*", "/cpu:1"}, {"/cpu:*", "/device:GPU:1"}, {"/gpu:0", "/cpu:0"}}) {
    CHECK(merged(a, b, MergeMode::kSoft).empty());
    CHECK(merged(b, a, MergeMode::kSoft).empty());
  }
  CHECK(merged("/gpu:1", "/gpu:2", MergeMode::kSoft) == "/device:GPU:*");
  CHECK(merged("/job:a/gpu:1", "/task:0/cpu:1", MergeMode::kSoft) == "/job:a/task:0");
  for (MergeMode mode : {MergeMode::kSoft, MergeMode::kOverride}) {
    CHECK(merged("/job:a", "/job:b", mode) == "Cannot merge devices with incompatible jobs: '/job:a' and '/job:b'");
    CHECK(merged("/replica:0", "/replica:1", mode) ==
          "Cannot merge devices with incompatible replicas: '/replica:0' and '/replica:1'");
    CHECK(merged("/task:0", "/task:1", mode) ==
          "Cannot merge devices with incompatible tasks: '/task:0' and '/task:1'");
  }
}

TEST_CASE("an overriding merge takes the other's type and id") {
  struct Case {
    const char *target, *other, *expected;
  };
  for (auto [target, other, expected] :
       {Case{"/gpu:0", "/cpu:1", "/device:CPU:1"}, Case{"/gpu:*", "/cpu:1", "/device:CPU:1"},
        Case{"/cpu:*", "/device:GPU:1", "/device:GPU:1"}, Case{"/device:GPU:1", "/device:GPU:2", "/device:GPU:2"},
        Case{"/job:foo/CPU:*", "/device:GPU:1", "/job:foo/device:GPU:1"},
        Case{"/cpu:*", "/job:foo/device:GPU:1", "/job:foo/device:GPU:1"},
        Case{"/task:0/cpu:*", "/device:GPU:1", "/task:0/device:GPU:1"},
        Case{"/gpu:0", "/device:CPU", "/device:CPU:0"}}) {
    CHECK(merged(target, other, MergeMode::kOverride) == expected);
  }
}

TEST_CASE("names are completed from a base name") {
  const char* base = "/job:foo/replica:10/task:0/device:CPU:0";
  for (const char* text : {"/job:foo/replica:10/task:0/device:CPU:1", "/job:foo/task:0/replica:10/device:CPU:1",
                           "/job:foo/task:0/replica:10/cpu:1"}) {
    CHECK(*canonicalize(text, base) == "/job:foo/replica:10/task:0/device:CPU:1");
  }
  CHECK(*canonicalize("CPU:0", base) == base);
  CHECK(*canonicalize("", base) == base);

  auto message = [](std::string_view text, std::string_view from) {
    auto result = canonicalize(text, from);
    REQUIRE(result.status().code() == Code::kInvalidArgument);
    return result.status().message();
  };
  CHECK(message("/job:foo/task:0/replica/cpu:1", base) ==
        "Could not parse /job:foo/task:0/replica/cpu:1 into a device specification.");
  CHECK(message("CPU:0", "/device:CPU:0") == "Basename: /device:CPU:0 should be fully specified.");
  CHECK(message("CPU:0", "/job:foo/task:0/replica/cpu:1") ==
        "Could not parse basename: /job:foo/task:0/replica/cpu:1 into a device specification.");
}

}  // namespace
}  // namespace emplace
