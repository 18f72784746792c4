#include "core/formats/cluster_reader.h"

#include <charconv>

#include "core/base/cat.h"
#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

// {"0": "host:2222"} or ["host:2222"].
std::map<int, std::string> read_tasks(JsonReader& reader) {
  std::map<int, std::string> tasks;
  if (reader.peek() == Kind::kObject) {
    reader.enter_object();
    for (std::string_view key; reader.next_key(key);) {
      size_t at = reader.position();
      int task = 0;
      auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), task);
      if (error != std::errc() || end != key.data() + key.size() || task < 0)
        reader.problem(at, cat("task '", key, "' is not a number"));
      if (auto address = read_text(reader, "task")) tasks[task] = *address;
    }
  } else if (expect(reader, Kind::kArray, "tasks")) {
    int task = 0;
    for (reader.enter_array(); reader.next_element(); ++task) {
      if (auto address = read_text(reader, "task")) tasks[task] = *address;
    }
  }
  return tasks;
}

// ClusterDef's list of jobs; it begins with an object, a job's list of tasks with text.
bool is_job_list(JsonReader& reader) {
  Problems scratch;
  JsonReader look = reader.lookahead(scratch);
  if (look.peek() != Kind::kArray) return false;
  look.enter_array();
  return look.next_element() && look.peek() == Kind::kObject;
}

void read_jobs(JsonReader& reader, ClusterJobs& jobs) {
  static constexpr std::string_view kKeys[] = {"name", "tasks"};
  for (reader.enter_array(); reader.next_element();) {
    std::string name;
    std::map<int, std::string> tasks;
    ObjectReader object(reader, kKeys, "a job");
    while (object.next()) {
      if (object.field() == 0) {
        name = read_text(reader, "name").value_or("");
      } else {
        tasks = read_tasks(reader);
      }
    }
    if (name.empty() && !reader.failed()) reader.problem(object.position(), "a job without a name");
    jobs[name] = std::move(tasks);
  }
}

}  // namespace

void read_cluster(JsonReader& reader, ClusterJobs& jobs) {
  if (!expect(reader, Kind::kObject, "cluster")) return;
  reader.enter_object();
  for (std::string_view job; reader.next_key(job);) {
    if (job == "job" && is_job_list(reader)) {
      read_jobs(reader, jobs);
    } else {
      jobs[std::string(job)] = read_tasks(reader);
    }
  }
}

}  // namespace emplace
