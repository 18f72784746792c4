#include "core/train/data_fingerprint.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/base/farmhash.h"
#include "core/base/stop.h"

namespace emplace {
namespace {

/// Piece by piece, so that a stop is heard.
Result<uint64_t> fingerprint_of(std::string_view bytes, uint64_t seed) {
  constexpr size_t kPiece = size_t{16} << 20;
  uint64_t sum = seed;
  do {
    RETURN_IF_ERROR(stop_status());
    const uint64_t pair[] = {sum, fingerprint64(bytes.substr(0, kPiece))};
    sum = fingerprint64({reinterpret_cast<const char*>(pair), sizeof pair});
    bytes.remove_prefix(std::min(bytes.size(), kPiece));
  } while (!bytes.empty());
  return sum;
}

}  // namespace

Result<std::string> data_fingerprint(const DataSet& data) {
  std::vector<std::string> files = {data.file};
  for (const FeedRequest& feed : data.feeds) files.push_back(feed.file);
  std::set<std::string> seen = {""};
  uint64_t sum = 0;
  for (const std::string& file : files) {
    if (!seen.insert(file).second) continue;
    ASSIGN_OR_RETURN(std::shared_ptr<const Source> source, Source::open(file));
    ASSIGN_OR_RETURN(sum, fingerprint_of(source->text(), sum));
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return std::string(text);
}

}  // namespace emplace
