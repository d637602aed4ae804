// SPDX-License-Identifier: GPL-2.0-only
/*
 * ai-fw-image: packs the NPU's firmware into a signed image, and shows one.
 */
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <getopt.h>

#include "../npu/version.h"
#include "npu_mmio.h"
#include "signing.h"

// A program of one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace {

using ai0::npu::Key;

static_assert(sizeof(npu_fw_header) == NPU_FW_HEADER_BYTES);
static_assert(offsetof(npu_fw_header, signature) == NPU_FW_SIGNED_BYTES);

constexpr char kUsage[] =
    "usage: ai-fw-image --code FLAT.bin --key PRIVATE.pem --out IMAGE [options]\n"
    "       ai-fw-image --show IMAGE [--key KEY.pem]\n"
    "\n"
    "  --abi MAJOR.MINOR       interface the firmware speaks\n"
    "  --version X.Y.Z         version of the firmware\n"
    "  --header-version N      version of the header\n"
    "  --profiles LIST         devices it is for: npu, gpu or both (npu,gpu)\n"
    "  --build TEXT            shown to people\n"
    "\n"
    "The options have the values of the firmware in this tree; other values make\n"
    "images that a device refuses. With --key, --show verifies the signature too;\n"
    "the key may be private or public. The exit status of --show is 0 if the\n"
    "image is good as far as it could be verified.\n";

struct Options {
    std::string code, key, out, show, build = "ai0 reference NPU";
    std::uint32_t abi = NPU_ABI_VERSION;
    std::uint32_t version = AI0_FW_VERSION;
    std::uint32_t header_version = NPU_FW_HEADER_VERSION;
    std::uint32_t profiles = 1u << NPU_PROFILE_NPU | 1u << NPU_PROFILE_GPU;
};

[[noreturn]] void fail(const std::string& sentence)
{
    std::cerr << "ai-fw-image: " << sentence << "\n";
    std::exit(1);
}

/* Numbers separated by dots, each at most @limits[i]. */
std::vector<std::uint32_t> numbers(std::string_view option, std::string_view text,
                                   const std::vector<std::uint32_t>& limits)
{
    std::vector<std::uint32_t> values;
    const char* at = text.data();
    const char* end = at + text.size();

    for (std::uint32_t limit : limits) {
        std::uint32_t value = 0;
        auto [next, error] = std::from_chars(at, end, value);

        if (error != std::errc() || value > limit)
            break;
        values.push_back(value);
        at = next;
        if (values.size() < limits.size()) {
            if (at == end || *at != '.')
                break;
            at++;
        }
    }
    if (values.size() != limits.size() || at != end)
        fail("--" + std::string(option) + " is '" + std::string(text) + "', needed are " +
             std::to_string(limits.size()) + " numbers with dots between them");
    return values;
}

std::uint32_t parse_profiles(std::string_view text)
{
    std::uint32_t mask = 0;
    std::string_view rest = text;

    while (!rest.empty()) {
        std::string_view word = rest.substr(0, rest.find(','));

        if (word == "npu")
            mask |= 1u << NPU_PROFILE_NPU;
        else if (word == "gpu")
            mask |= 1u << NPU_PROFILE_GPU;
        else
            fail("--profiles is '" + std::string(text) + "', needed are npu, gpu or npu,gpu");
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    return mask;
}

std::vector<std::byte> read_file(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);

    if (!file)
        fail(path + " cannot be opened (" + std::strerror(errno) + ")");
    std::vector<char> text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

void pack(const Options& options)
{
    std::string error;
    std::optional<Key> key = Key::read_private(options.key, error);
    if (!key)
        fail(error);

    std::vector<std::byte> code = read_file(options.code);
    if (code.empty() || code.size() > NPU_CORE_SRAM_BYTES)
        fail("the code has " + std::to_string(code.size()) + " bytes, needed are 1 to " +
             std::to_string(NPU_CORE_SRAM_BYTES));

    npu_fw_header header{};
    header.magic = NPU_FW_MAGIC;
    header.header_version = options.header_version;
    header.header_bytes = NPU_FW_HEADER_BYTES;
    header.abi = options.abi;
    header.version = options.version;
    header.profiles = options.profiles;
    header.code_bytes = code.size();
    header.load_addr = NPU_CORE_SRAM;
    header.entry = NPU_CORE_SRAM;
    ai0::npu::Sha256 digest = ai0::npu::sha256(code);
    std::memcpy(header.sha256, digest.data(), digest.size());
    ai0::npu::KeyId id = key->id();
    std::memcpy(header.key_id, id.data(), id.size());
    std::memcpy(header.build, options.build.data(),
                std::min(options.build.size(), sizeof(header.build) - 1));

    ai0::npu::Signature signature{};
    if (!key->sign(std::as_bytes(std::span(&header, 1)).first(NPU_FW_SIGNED_BYTES), signature))
        fail("the image could not be signed with " + options.key);
    std::memcpy(header.signature, signature.data(), signature.size());

    std::ofstream out(options.out, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&header), sizeof(header));
    out.write(reinterpret_cast<const char*>(code.data()),
              static_cast<std::streamsize>(code.size()));
    out.close();
    if (!out)
        fail(options.out + " cannot be written (" + std::strerror(errno) + ")");
}

std::optional<Key> any_key(const std::string& path)
{
    std::string error;
    std::optional<Key> key = Key::read_public(path, error);

    if (!key)
        key = Key::read_private(path, error);
    if (!key)
        fail(error);
    return key;
}

bool show(const Options& options)
{
    std::vector<std::byte> image = read_file(options.show);
    npu_fw_header header{};
    bool good = true;

    if (image.size() < sizeof(header))
        fail(options.show + " has " + std::to_string(image.size()) + " bytes, a header needs " +
             std::to_string(sizeof(header)));
    std::memcpy(&header, image.data(), sizeof(header));
    if (header.magic != NPU_FW_MAGIC)
        fail(options.show + " is no NPU firmware: another magic number was found at its start");

    std::span<const std::byte> code = std::span(image).subspan(sizeof(header));
    std::string build(header.build, strnlen(header.build, sizeof(header.build)));
    std::string profiles;
    if (header.profiles & 1u << NPU_PROFILE_NPU)
        profiles += "npu ";
    if (header.profiles & 1u << NPU_PROFILE_GPU)
        profiles += "gpu ";

    std::printf("header version  %u, %u bytes\n", header.header_version, header.header_bytes);
    std::printf("interface       %u.%u\n", header.abi >> 16, header.abi & 0xffff);
    std::printf("version         %u.%u.%u\n", header.version >> 16, header.version >> 8 & 0xff,
                header.version & 0xff);
    std::printf("profiles        %s(0x%x)\n", profiles.c_str(), header.profiles);
    std::printf("build           %s\n", build.c_str());
    std::printf("load, entry     0x%llx, 0x%llx\n", header.load_addr, header.entry);

    bool size_good = header.code_bytes == code.size();
    std::printf("code            %llu bytes%s\n", header.code_bytes,
                size_good ? "" : (", found " + std::to_string(code.size())).c_str());
    ai0::npu::Sha256 digest = ai0::npu::sha256(code);
    bool digest_good = std::memcmp(digest.data(), header.sha256, digest.size()) == 0;
    std::printf("sha256          %s, %s\n", ai0::npu::to_hex(header.sha256).c_str(),
                digest_good ? "good" : "of other code");
    std::printf("key             %s\n", ai0::npu::to_hex(header.key_id).c_str());
    good = size_good && digest_good;

    if (options.key.empty()) {
        std::printf("signature       not verified, no --key was given\n");
        return good;
    }
    std::optional<Key> key = any_key(options.key);
    bool key_good = std::memcmp(key->id().data(), header.key_id, sizeof(header.key_id)) == 0;
    bool signature_good =
        key_good && key->verify(std::span<const std::byte>(image).first(NPU_FW_SIGNED_BYTES),
                                std::span(header.signature));
    std::printf("signature       %s\n", !key_good        ? "by another key"
                                        : signature_good ? "good"
                                                         : "wrong");
    return good && signature_good;
}

Options parse(int argc, char** argv)
{
    enum { kCode, kKey, kOut, kShow, kAbi, kVersion, kHeaderVersion, kProfiles, kBuild, kHelp };
    static const option kLong[] = {
        {"code", required_argument, nullptr, kCode},
        {"key", required_argument, nullptr, kKey},
        {"out", required_argument, nullptr, kOut},
        {"show", required_argument, nullptr, kShow},
        {"abi", required_argument, nullptr, kAbi},
        {"version", required_argument, nullptr, kVersion},
        {"header-version", required_argument, nullptr, kHeaderVersion},
        {"profiles", required_argument, nullptr, kProfiles},
        {"build", required_argument, nullptr, kBuild},
        {"help", no_argument, nullptr, kHelp},
        {},
    };
    Options options;

    for (int c; (c = getopt_long(argc, argv, "", kLong, nullptr)) != -1;) {
        switch (c) {
        case kCode:
            options.code = optarg;
            break;
        case kKey:
            options.key = optarg;
            break;
        case kOut:
            options.out = optarg;
            break;
        case kShow:
            options.show = optarg;
            break;
        case kAbi: {
            auto v = numbers("abi", optarg, {0xffff, 0xffff});
            options.abi = NPU_ABI(v[0], v[1]);
            break;
        }
        case kVersion: {
            auto v = numbers("version", optarg, {0xffff, 0xff, 0xff});
            options.version = NPU_FW_VERSION(v[0], v[1], v[2]);
            break;
        }
        case kHeaderVersion:
            options.header_version = numbers("header-version", optarg, {0xffffffff})[0];
            break;
        case kProfiles:
            options.profiles = parse_profiles(optarg);
            break;
        case kBuild:
            options.build = optarg;
            break;
        case kHelp:
            std::cout << kUsage;
            std::exit(0);
        default:
            std::cerr << kUsage;
            std::exit(2);
        }
    }
    bool complete = options.show.empty()
                        ? !options.code.empty() && !options.key.empty() && !options.out.empty()
                        : options.code.empty() && options.out.empty();
    if (!complete || optind != argc) {
        std::cerr << kUsage;
        std::exit(2);
    }
    return options;
}

} // namespace

int main(int argc, char** argv)
{
    Options options = parse(argc, argv);

    if (!options.show.empty())
        return show(options) ? 0 : 1;
    pack(options);
    return 0;
}

// NOLINTEND(concurrency-mt-unsafe)
