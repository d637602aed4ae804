// SPDX-License-Identifier: GPL-2.0-only
#include "signing.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include <openssl/bio.h>
#include <openssl/pem.h>

namespace ai0::npu {

namespace {

struct FreeBio {
    void operator()(BIO* bio) const { BIO_free(bio); }
};

struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* bytes_of(std::span<const std::byte> data)
{
    return reinterpret_cast<const unsigned char*>(data.data());
}

} // namespace

Sha256 sha256(std::span<const std::byte> data)
{
    Sha256 digest{};

    EVP_Digest(data.data(), data.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
    return digest;
}

std::string to_hex(std::span<const std::uint8_t> bytes)
{
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;

    for (std::uint8_t byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

std::optional<Key> Key::read(const std::string& pem, bool is_private, std::string& error)
{
    std::ifstream file(pem, std::ios::binary);

    if (!file) {
        error = "the key " + pem + " cannot be opened (" + std::generic_category().message(errno) +
                "); name a readable PEM file";
        return std::nullopt;
    }
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::unique_ptr<BIO, FreeBio> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    EVP_PKEY* key = is_private ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr)
                               : PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr);
    if (!key) {
        error = "no " + std::string(is_private ? "private" : "public") + " key was found in " +
                pem + ", needed is an Ed25519 key in PEM form";
        return std::nullopt;
    }
    Key result(key);
    if (EVP_PKEY_get_id(key) != EVP_PKEY_ED25519) {
        error = "the key in " + pem +
                " is of another kind, needed is Ed25519; make one with "
                "openssl genpkey -algorithm ed25519";
        return std::nullopt;
    }
    return result;
}

std::optional<Key> Key::read_private(const std::string& pem, std::string& error)
{
    return read(pem, true, error);
}

std::optional<Key> Key::read_public(const std::string& pem, std::string& error)
{
    return read(pem, false, error);
}

KeyId Key::id() const
{
    std::array<unsigned char, 32> raw{};
    std::size_t bytes = raw.size();
    KeyId id{};

    EVP_PKEY_get_raw_public_key(key_.get(), raw.data(), &bytes);
    Sha256 digest = sha256(std::as_bytes(std::span(raw)));
    std::copy_n(digest.begin(), id.size(), id.begin());
    return id;
}

bool Key::sign(std::span<const std::byte> data, Signature& signature) const
{
    Context context(EVP_MD_CTX_new());
    std::size_t bytes = signature.size();

    return context &&
           EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
           EVP_DigestSign(context.get(), signature.data(), &bytes, bytes_of(data), data.size()) ==
               1 &&
           bytes == signature.size();
}

bool Key::verify(std::span<const std::byte> data, std::span<const std::uint8_t, 64> signature) const
{
    Context context(EVP_MD_CTX_new());

    return context &&
           EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes_of(data),
                            data.size()) == 1;
}

} // namespace ai0::npu
