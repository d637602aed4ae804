/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The three things about a firmware image that need cryptography: digest, key
 * id, signature. Used by the image tool and by the boot ROM of the model.
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <gnutls/abstract.h>

namespace ai0::npu {

using Sha256 = std::array<std::uint8_t, 32>;
using KeyId = std::array<std::uint8_t, 8>;
using Signature = std::array<std::uint8_t, 64>;

Sha256 sha256(std::span<const std::byte> data);
std::string to_hex(std::span<const std::uint8_t> bytes);

/* An Ed25519 key, private or public only. */
class Key {
public:
    /* Both give nothing and a sentence in @error when the file cannot be used. */
    static std::optional<Key> read_private(const std::string& pem, std::string& error);
    static std::optional<Key> read_public(const std::string& pem, std::string& error);

    /* First bytes of the SHA-256 of the raw public key. */
    KeyId id() const;

    bool sign(std::span<const std::byte> data, Signature& signature) const;
    bool verify(std::span<const std::byte> data, std::span<const std::uint8_t, 64> signature) const;

private:
    struct Free {
        void operator()(gnutls_privkey_t key) const { gnutls_privkey_deinit(key); }
        void operator()(gnutls_pubkey_t key) const { gnutls_pubkey_deinit(key); }
    };
    using Raw = std::array<std::uint8_t, 32>;

    Key() = default;
    static std::optional<Key> read(const std::string& pem, bool is_private, std::string& error);
    bool import(std::string text, bool is_private);
    bool export_public();

    std::unique_ptr<gnutls_privkey_st, Free> private_;
    std::unique_ptr<gnutls_pubkey_st, Free> public_;
    Raw raw_{}; /* of the public key */
};

} // namespace ai0::npu
