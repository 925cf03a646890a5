#include "base/trace_hash.h"

#include <openssl/evp.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

#include "base/check.h"

namespace rocelab {

static_assert(std::endian::native == std::endian::little, "records are hashed as they lie in memory");

struct TraceHash::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
  void add_block(std::span<const TraceRecord> records) {
    XXH128_canonical_t block;
    XXH128_canonicalFromHash(&block, XXH3_128bits(records.data(), records.size_bytes()));
    RL_CHECK(EVP_DigestUpdate(context, block.digest, sizeof block.digest) == 1);
  }
};

TraceHash::TraceHash() : state_(std::make_unique<State>()) {
  RL_CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
  pending_.reserve(kBlock);
}
TraceHash::~TraceHash() = default;
TraceHash::TraceHash(TraceHash&&) noexcept = default;
TraceHash& TraceHash::operator=(TraceHash&&) noexcept = default;

void TraceHash::add(const TraceRecord& record) {
  pending_.push_back(record);
  if (pending_.size() < kBlock) return;
  state_->add_block(pending_);
  pending_.clear();
}

Digest TraceHash::digest() {
  State copy;
  Digest result;
  RL_CHECK(EVP_MD_CTX_copy_ex(copy.context, state_->context) == 1);
  if (!pending_.empty()) copy.add_block(pending_);
  RL_CHECK(EVP_DigestFinal_ex(copy.context, reinterpret_cast<unsigned char*>(result.data()), nullptr) == 1);
  return result;
}

Digest combine(std::span<const Digest> nodes) {
  Digest result;
  RL_CHECK(EVP_Digest(nodes.data(), nodes.size_bytes(), reinterpret_cast<unsigned char*>(result.data()),
                      nullptr, EVP_sha256(), nullptr) == 1);
  return result;
}

std::string to_hex(const Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : digest) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace rocelab
