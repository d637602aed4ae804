// SPDX-License-Identifier: GPL-2.0-only
#include "signing.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include <gnutls/crypto.h>

namespace ai0::npu {

namespace {

/* The library takes what it only reads as unsigned char without const. */
gnutls_datum_t datum_of(std::span<const std::byte> data)
{
    auto* bytes = const_cast<std::byte*>(data.data());

    return {reinterpret_cast<unsigned char*>(bytes), static_cast<unsigned int>(data.size())};
}

/* Moves what the library allocated to @to; false if that has another size. */
bool take(gnutls_datum_t from, std::span<std::uint8_t> to)
{
    bool fits = from.size == to.size();

    if (fits)
        std::copy_n(from.data, from.size, to.begin());
    gnutls_free(from.data);
    return fits;
}

} // namespace

Sha256 sha256(std::span<const std::byte> data)
{
    Sha256 digest{};

    gnutls_hash_fast(GNUTLS_DIG_SHA256, data.data(), data.size(), digest.data());
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

bool Key::import(std::string text, bool is_private)
{
    gnutls_datum_t pem = datum_of(std::as_bytes(std::span(text)));
    gnutls_privkey_t private_key = nullptr;
    gnutls_pubkey_t public_key = nullptr;

    if (gnutls_pubkey_init(&public_key) < 0)
        return false;
    public_.reset(public_key);
    if (!is_private)
        return gnutls_pubkey_import(public_key, &pem, GNUTLS_X509_FMT_PEM) >= 0;

    if (gnutls_privkey_init(&private_key) < 0)
        return false;
    private_.reset(private_key);
    return gnutls_privkey_import_x509_raw(private_key, &pem, GNUTLS_X509_FMT_PEM, nullptr, 0) >=
               0 &&
           gnutls_pubkey_import_privkey(public_key, private_key, 0, 0) >= 0;
}

/* False if it is no key for Ed25519. */
bool Key::export_public()
{
    gnutls_ecc_curve_t curve{};
    gnutls_datum_t raw{};

    if (gnutls_pubkey_get_pk_algorithm(public_.get(), nullptr) != GNUTLS_PK_EDDSA_ED25519 ||
        gnutls_pubkey_export_ecc_raw(public_.get(), &curve, &raw, nullptr) < 0)
        return false;
    return take(raw, raw_);
}

std::optional<Key> Key::read(const std::string& pem, bool is_private, std::string& error)
{
    std::ifstream file(pem, std::ios::binary);
    Key key;

    if (!file) {
        error = "the key " + pem + " cannot be opened (" + std::generic_category().message(errno) +
                "); name a readable PEM file";
        return std::nullopt;
    }
    if (!key.import({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()},
                    is_private)) {
        error = "no " + std::string(is_private ? "private" : "public") + " key was found in " +
                pem + ", needed is an Ed25519 key in PEM form";
        return std::nullopt;
    }
    if (!key.export_public()) {
        error = "the key in " + pem +
                " is of another kind, needed is Ed25519; make one with "
                "openssl genpkey -algorithm ed25519";
        return std::nullopt;
    }
    return key;
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
    Sha256 digest = sha256(std::as_bytes(std::span(raw_)));
    KeyId id{};

    std::copy_n(digest.begin(), id.size(), id.begin());
    return id;
}

bool Key::sign(std::span<const std::byte> data, Signature& signature) const
{
    gnutls_datum_t in = datum_of(data);
    gnutls_datum_t out{};

    if (!private_ ||
        gnutls_privkey_sign_data2(private_.get(), GNUTLS_SIGN_EDDSA_ED25519, 0, &in, &out) < 0)
        return false;
    return take(out, signature);
}

bool Key::verify(std::span<const std::byte> data, std::span<const std::uint8_t, 64> signature) const
{
    gnutls_datum_t in = datum_of(data);
    gnutls_datum_t given = datum_of(std::as_bytes(signature));

    return gnutls_pubkey_verify_data2(public_.get(), GNUTLS_SIGN_EDDSA_ED25519, 0, &in, &given) >=
           0;
}

} // namespace ai0::npu
