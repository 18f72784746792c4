// StringToHashBucketStrong: numbers for texts that nobody can choose to be the same without the key (SipHash-2-4).
#include "core/op/op_def.h"
#include "core/ops/text/sip_hash.h"
#include "core/ops/text/text_map.h"

namespace emplace {
namespace {

class StrongHashBucket final : public Kernel {
 public:
  explicit StrongHashBucket(const KernelInit& init)
      : buckets_(static_cast<uint64_t>(init.attrs.integer("num_buckets"))), key_(init.attrs.integers("key")) {}
  Status run(KernelContext& c) override {
    if (key_.size() != 2) return invalid_argument("Key must have 2 elements");
    return map_texts<int64_t>(c, [&](const std::string& text) {
      SipHash hash(static_cast<uint64_t>(key_[0]), static_cast<uint64_t>(key_[1]));
      return static_cast<int64_t>(hash.of(text) % buckets_);
    });
  }

 private:
  uint64_t buckets_;
  std::vector<int64_t> key_;
};

}  // namespace

OpDef string_to_hash_bucket_strong_op() {
  return OpDef("StringToHashBucketStrong")
      .doc("A number below num_buckets for each text, by a hash with a key.")
      .shape(shape_unchanged)
      .cpu(make<StrongHashBucket>)
      .not_differentiable();
}

}  // namespace emplace
