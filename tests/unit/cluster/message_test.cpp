// Messages between tasks: what is written is read; what nobody wrote is refused before it takes memory.
#include <catch2/catch.hpp>
#include <random>

#include "core/cluster/message.h"
#include "core/cluster/protocol.h"
#include "tests/unit/cluster/cluster_case.h"

using namespace emplace;
using emplace::message::PieceMessage;
using emplace::message::SessionRequest;

namespace {

SessionRequest sample() {
  SessionRequest request;
  request.session = 7;
  request.graph = "{}";
  request.placement = {0, 1, 300};
  message::TaskStatus task;
  task.name = "/job:a/replica:0/task:1", task.incarnation = UINT64_MAX;
  task.devices.push_back({"/job:a/replica:0/task:1/device:CPU:0", 0, int64_t{1} << 40, "", -1, "GPU-1"});
  request.tasks = {task, task};
  const std::vector<float> values{1, 2, 3};
  const std::vector<std::string> texts{"a", "", std::string(300, 'x')};
  request.feeds.push_back({3, 1, Tensor::of<float>(Shape{3, 1}, values)});
  request.feeds.push_back({4, 0, Tensor::of<std::string>(Shape{3}, texts)});
  request.timeout_s = 0.25;
  request.folder = "models/a", request.folder_place = "/home/x/models/a";
  return request;
}

}  // namespace

TEST_CASE("messages between tasks are read as they were written") {
  const SessionRequest wanted = sample();
  const std::string bytes = message::write(wanted).take();
  const auto found = message::read<SessionRequest>(bytes);
  REQUIRE(found.ok());
  CHECK(found->session == 7);
  CHECK(found->placement == wanted.placement);
  REQUIRE(found->tasks.size() == 2);
  CHECK(found->tasks[1].incarnation == UINT64_MAX);
  CHECK(found->tasks[1].devices[0].memory_limit == int64_t{1} << 40);
  CHECK(found->tasks[1].devices[0].physical_gpu == -1);
  CHECK(found->tasks[1].devices[0].uuid == "GPU-1");
  REQUIRE(found->feeds.size() == 2);
  for (size_t i = 0; i < 2; ++i) CHECK(testing::same(found->feeds[i].value, wanted.feeds[i].value));
  CHECK(found->timeout_s == 0.25);
  CHECK(found->folder == wanted.folder);
  CHECK(found->folder_place == wanted.folder_place);
  const auto nothing = message::read<PieceMessage>(message::write(PieceMessage{3, true, {}, 0}).take());
  REQUIRE(nothing.ok());
  CHECK(nothing->dead);
  CHECK(!nothing->value.valid());
}

TEST_CASE("a tensor that claims more than its message holds takes no memory") {
  const std::vector<float> values{1, 2};
  std::string bytes;
  REQUIRE(message::write_tensor(Tensor::of<float>(Shape{2}, values), bytes).ok());
  CHECK(message::read_tensor(bytes).ok());
  for (const int64_t size : {int64_t{3}, int64_t{1} << 40, int64_t{-1}, INT64_MAX}) {
    std::string larger = bytes;
    proto::WireWriter(larger).varint(2, static_cast<uint64_t>(size));  // one more dimension
    const auto read = message::read_tensor(larger);
    INFO(size);
    REQUIRE(!read.ok());
    CHECK(read.status().code() == Code::kInvalidArgument);
  }
}

TEST_CASE("bytes that nobody wrote are no message, or one that can be used") {
  const std::string bytes = message::write(sample()).take();
  std::mt19937_64 random(5);
  size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bent = bytes.substr(0, random() % 3 == 0 ? random() % bytes.size() : bytes.size());
    for (uint64_t i = 0; i <= random() % 4 && !bent.empty(); ++i)
      bent[random() % bent.size()] = static_cast<char>(random());
    const auto read = message::read<SessionRequest>(bent);
    refused += !read.ok();
    if (!read.ok()) continue;
    for (const auto& feed : read->feeds) {
      if (feed.value.valid() && feed.value.dtype() != DType::kString) CHECK(feed.value.size_bytes() <= bytes.size());
    }
  }
  CHECK(refused > 5000);
}
