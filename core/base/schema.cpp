#include "core/base/schema.h"

#include <string>

#include "core/base/cat.h"

namespace emplace {
namespace {

struct Schema {
  std::string_view name;  // with its article, for messages
  int version;
  int oldest = version;  // that is read, too
};

constexpr Schema kSchemas[kDocumentCount] = {
    {"the result of a run", 1},
    {"the records of a run", 1},
    {"the result of a training", 1},
    {"the records of a training", 1},
    {"a placement", 2, 1},
    {"a saved placement", 1},
    {"an explanation", 1},
    {"the result of a check", 1},
    {"a list of devices", 1},
    {"a device name", 1},
    {"a list of ops", 1},
    {"an op", 1},
    {"a count of missing ops", 1},
    {"a memory report", 1},
    {"a step report", 1},
    {"a trace", 1},
    {"a checkpoint", 1},
    {"a difference of placements", 1},
    {"a comparison of runs", 1},
    {"a list of copies", 1},
    {"a measurement of steps", 1},
    {"a table of costs", 1},
    {"a reduction", 1},
    {"an error", 1},
};

const Schema& schema_of(Document document) { return kSchemas[static_cast<int>(document)]; }

}  // namespace

int schema_version(Document document) { return schema_of(document).version; }

JsonWriter& write_schema(JsonWriter& json, Document document) {
  return json.member("schema_version", schema_version(document));
}

Status check_schema(Document document, std::string_view found) {
  const Schema& schema = schema_of(document);
  for (int version = schema.oldest; version <= schema.version; ++version) {
    if (found == std::to_string(version)) return ok_status();
  }
  constexpr size_t kShown = 20;
  if (found.size() > kShown) found = found.substr(0, kShown);
  return invalid_argument(cat(schema.name, " has schema_version ", found, ", this emplace reads schema_version ",
                              schema.oldest < schema.version ? cat(schema.oldest, " to ") : "", schema.version));
}

}  // namespace emplace
