#include "core/formats/checkpoint/sstable_writer.h"

#include <algorithm>

#include "core/formats/checkpoint/crc32c.h"
#include "core/formats/checkpoint/sstable.h"

namespace emplace {
namespace {

constexpr size_t kBlockBytes = 256 << 10;  // as TensorFlow's
constexpr int kRestartEvery = 16;
constexpr size_t kHandles = 40;  // of a footer: two handles, and zeros

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

template <class T>
void put_fixed(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

void SsTableWriter::Block::add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (since_restart == 0 || since_restart == kRestartEvery) {
    put_fixed(restarts, static_cast<uint32_t>(bytes.size()));
    since_restart = 0;
  } else {
    const size_t most = std::min(key.size(), last_key.size());
    while (shared < most && key[shared] == last_key[shared]) ++shared;
  }
  ++since_restart;
  put_varint(bytes, shared);
  put_varint(bytes, key.size() - shared);
  put_varint(bytes, value.size());
  bytes += key.substr(shared);
  bytes += value;
  last_key = key;
}

std::string SsTableWriter::Block::take() {
  if (restarts.empty()) put_fixed(restarts, uint32_t{0});
  std::string out = std::move(bytes);
  out += restarts;
  put_fixed(out, static_cast<uint32_t>(restarts.size() / 4));
  *this = {};
  return out;
}

void SsTableWriter::add(std::string_view key, std::string_view value) {
  data_.add(key, value);
  if (data_.bytes.size() >= kBlockBytes) end_block();
}

std::string SsTableWriter::append_block(Block& block) {
  std::string handle;
  std::string bytes = block.take();
  put_varint(handle, file_.size());
  put_varint(handle, bytes.size());
  bytes += '\0';  // not packed
  const uint32_t sum = masked_crc32c(bytes);
  file_ += bytes;
  put_fixed(file_, sum);
  return handle;
}

void SsTableWriter::end_block() {
  const std::string key = data_.last_key;
  index_.add(key, append_block(data_));
}

std::string SsTableWriter::finish() {
  if (!data_.bytes.empty()) end_block();
  Block none;
  std::string footer = append_block(none);
  footer += append_block(index_);
  footer.resize(kHandles, '\0');
  put_fixed(footer, SsTable::kMagic);
  return std::move(file_) + footer;
}

}  // namespace emplace
