#include "core/device/device_name.h"

#include <charconv>

#include "core/base/cat.h"

namespace emplace {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool consume(std::string_view& in, std::string_view prefix) {
  if (!in.starts_with(prefix)) return false;
  in.remove_prefix(prefix.size());
  return true;
}

// A letter, then letters, digits and '_', up to one of `ends` or the end of the input.
bool consume_word(std::string_view& in, std::string_view ends, std::optional<std::string>& word) {
  if (in.empty() || !is_letter(in[0])) return false;
  size_t n = 1;
  while (n < in.size() && (is_letter(in[n]) || is_digit(in[n]) || in[n] == '_')) ++n;
  if (n < in.size() && ends.find(in[n]) == std::string_view::npos) return false;
  word.emplace(in.substr(0, n));
  in.remove_prefix(n);
  return true;
}

bool consume_number(std::string_view& in, std::optional<int>& number) {
  if (in.empty() || !is_digit(in[0])) return false;  // from_chars would take a sign
  int value = 0;
  auto [end, error] = std::from_chars(in.data(), in.data() + in.size(), value);
  if (error != std::errc()) return false;
  number = value;
  in.remove_prefix(static_cast<size_t>(end - in.data()));
  return true;
}

bool consume_job(std::string_view& in, std::optional<std::string>& job) {
  job.reset();
  return consume(in, "*") || consume_word(in, "/", job);
}

bool consume_number_or_star(std::string_view& in, std::optional<int>& number) {
  number.reset();
  return consume(in, "*") || consume_number(in, number);
}

// What follows "/device:".
bool consume_device(std::string_view& in, DeviceName& name) {
  name.type.reset();
  name.id.reset();
  if (!consume(in, "*") && !consume_word(in, "/:", name.type)) return false;
  return !consume(in, ":") || consume_number_or_star(in, name.id);
}

bool consume_component(std::string_view& in, DeviceName& name) {
  if (consume(in, "/job:")) return consume_job(in, name.job);
  if (consume(in, "/replica:")) return consume_number_or_star(in, name.replica);
  if (consume(in, "/task:")) return consume_number_or_star(in, name.task);
  if (consume(in, "/device:")) return consume_device(in, name);
  // The spellings from before "/device:"; other mixtures of case are malformed.
  if (consume(in, "/cpu:") || consume(in, "/CPU:")) {
    name.type = "CPU";
  } else if (consume(in, "/gpu:") || consume(in, "/GPU:")) {
    name.type = "GPU";
  } else {
    return false;
  }
  return consume_number_or_star(in, name.id);
}

template <class T>
bool agrees(const std::optional<T>& part, const std::optional<T>& whole) {
  return !part || part == whole;
}

template <class T>
bool compatible(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

template <class T>
void overwrite(std::optional<T>& field, const std::optional<T>& by) {
  if (by) field = by;
}

Status incompatible(std::string_view what, const DeviceName& target, const DeviceName& other) {
  return invalid_argument(cat("Cannot merge devices with incompatible ", what, ": '", target.to_string(), "' and '",
                              other.to_string(), "'"));
}

}  // namespace

std::optional<DeviceName> DeviceName::parse(std::string_view full_name) {
  DeviceName name;
  if (full_name == "/") return name;
  while (!full_name.empty()) {
    if (!consume_component(full_name, name)) return std::nullopt;
  }
  return name;
}

std::optional<DeviceName> DeviceName::parse_local(std::string_view local_name) {
  DeviceName name;
  if (!consume_word(local_name, ":", name.type) || !consume(local_name, ":")) return std::nullopt;
  if (!consume_number(local_name, name.id) || !local_name.empty()) return std::nullopt;
  return name;
}

std::string DeviceName::to_string() const { return task_name() + local_name(); }

std::string DeviceName::task_name() const {
  std::string out;
  if (job) append(out, "/job:", *job);
  if (replica) append(out, "/replica:", *replica);
  if (task) append(out, "/task:", *task);
  return out;
}

std::string DeviceName::local_name() const {
  if (!type) return {};
  return id ? cat("/device:", *type, ":", *id) : cat("/device:", *type, ":*");
}

bool DeviceName::is_specification_of(const DeviceName& more) const {
  return agrees(job, more.job) && agrees(replica, more.replica) && agrees(task, more.task) && agrees(type, more.type) &&
         agrees(id, more.id);
}

bool DeviceName::matches(const DeviceName& full) const { return full.complete() && is_specification_of(full); }

bool DeviceName::compatible_with(const DeviceName& other) const {
  return !different_address_space(other) && compatible(type, other.type) && compatible(id, other.id);
}

bool DeviceName::same_address_space(const DeviceName& other) const {
  return job && replica && task && job == other.job && replica == other.replica && task == other.task;
}

bool DeviceName::different_address_space(const DeviceName& other) const {
  return !compatible(job, other.job) || !compatible(replica, other.replica) || !compatible(task, other.task);
}

void DeviceName::ensure_specification(const DeviceName& less) {
  overwrite(job, less.job);
  overwrite(replica, less.replica);
  overwrite(task, less.task);
  overwrite(type, less.type);
  overwrite(id, less.id);
}

Status merge(DeviceName& target, const DeviceName& other, MergeMode mode) {
  if (!compatible(target.job, other.job)) return incompatible("jobs", target, other);
  overwrite(target.job, other.job);
  if (!compatible(target.replica, other.replica)) return incompatible("replicas", target, other);
  overwrite(target.replica, other.replica);
  if (!compatible(target.task, other.task)) return incompatible("tasks", target, other);
  overwrite(target.task, other.task);

  if (mode != MergeMode::kOverride && !compatible(target.type, other.type)) {
    if (mode == MergeMode::kStrict) return incompatible("types", target, other);
    target.type.reset();
    target.id.reset();
    return ok_status();
  }
  overwrite(target.type, other.type);

  if (mode != MergeMode::kOverride && !compatible(target.id, other.id)) {
    if (mode == MergeMode::kStrict) return incompatible("ids", target, other);
    target.id.reset();
    return ok_status();
  }
  overwrite(target.id, other.id);
  return ok_status();
}

Result<std::string> canonicalize(std::string_view name, std::string_view base) {
  auto complete = DeviceName::parse(base);
  if (!complete) return invalid_argument(cat("Could not parse basename: ", base, " into a device specification."));
  if (!complete->complete()) return invalid_argument(cat("Basename: ", base, " should be fully specified."));
  auto parsed = DeviceName::parse_local(name);
  if (!parsed) parsed = DeviceName::parse(name);
  if (!parsed) return invalid_argument(cat("Could not parse ", name, " into a device specification."));
  complete->ensure_specification(*parsed);
  return complete->to_string();
}

}  // namespace emplace
