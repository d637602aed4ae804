// SPDX-License-Identifier: GPL-2.0-only
#include "boot_rom.h"

#include <algorithm>
#include <cstring>

namespace ai0::npu {

namespace {

BootResult refuse(npu_boot_error error, std::uint64_t found, std::uint64_t needed)
{
    BootResult result;

    result.error = error;
    result.found = static_cast<std::uint32_t>(std::min<std::uint64_t>(found, 0xffffffff));
    result.needed = static_cast<std::uint32_t>(std::min<std::uint64_t>(needed, 0xffffffff));
    return result;
}

std::uint32_t first_word(std::span<const std::uint8_t> bytes)
{
    std::uint32_t word = 0;

    std::memcpy(&word, bytes.data(), sizeof(word));
    return word;
}

/* The same rule as between driver and firmware. */
bool abi_serves(std::uint32_t found, std::uint32_t needed)
{
    return found >> 16 == needed >> 16 && (found & 0xffff) >= (needed & 0xffff);
}

} // namespace

BootResult boot_rom_check(std::span<const std::byte> window, std::uint64_t image_bytes,
                          npu_profile profile, const Key* key)
{
    npu_fw_header header{};

    if (image_bytes < sizeof(header))
        return refuse(NPU_BOOT_SIZE, image_bytes, sizeof(header));
    if (image_bytes > window.size())
        return refuse(NPU_BOOT_SIZE, image_bytes, window.size());

    std::vector<std::byte> image(window.begin(),
                                 window.begin() + static_cast<std::ptrdiff_t>(image_bytes));
    std::memcpy(&header, image.data(), sizeof(header));
    std::span<const std::byte> code = std::span<const std::byte>(image).subspan(sizeof(header));

    if (header.magic != NPU_FW_MAGIC)
        return refuse(NPU_BOOT_MAGIC, header.magic, NPU_FW_MAGIC);
    if (header.header_version != NPU_FW_HEADER_VERSION)
        return refuse(NPU_BOOT_HEADER_VERSION, header.header_version, NPU_FW_HEADER_VERSION);
    if (header.header_bytes != sizeof(header))
        return refuse(NPU_BOOT_SIZE, header.header_bytes, sizeof(header));
    if (!abi_serves(header.abi, NPU_ABI_VERSION))
        return refuse(NPU_BOOT_ABI, header.abi, NPU_ABI_VERSION);
    if (!(header.profiles & 1u << profile))
        return refuse(NPU_BOOT_PROFILE, header.profiles, 1u << profile);
    if (header.code_bytes != code.size())
        return refuse(NPU_BOOT_SIZE, image_bytes,
                      header.code_bytes > NPU_CORE_SRAM_BYTES ? 0xffffffff
                                                              : sizeof(header) + header.code_bytes);
    if (header.load_addr < NPU_CORE_SRAM || code.empty() || code.size() > NPU_CORE_SRAM_BYTES ||
        header.load_addr - NPU_CORE_SRAM > NPU_CORE_SRAM_BYTES - code.size())
        return refuse(NPU_BOOT_SIZE, code.size(), NPU_CORE_SRAM_BYTES);
    if (header.entry < header.load_addr || header.entry - header.load_addr >= code.size() ||
        header.entry % 2)
        return refuse(NPU_BOOT_SIZE, header.entry, header.load_addr);

    Sha256 digest = sha256(code);
    if (!std::equal(digest.begin(), digest.end(), header.sha256))
        return refuse(NPU_BOOT_DIGEST, first_word(digest), first_word(header.sha256));

    KeyId id = key ? key->id() : KeyId{};
    if (!key || !std::equal(id.begin(), id.end(), header.key_id))
        return refuse(NPU_BOOT_KEY, first_word(header.key_id), first_word(id));
    if (!key->verify(std::span<const std::byte>(image).first(NPU_FW_SIGNED_BYTES),
                     std::span(header.signature)))
        return refuse(NPU_BOOT_SIGNATURE, first_word(header.signature), 0);

    BootResult result;
    result.code.assign(code.begin(), code.end());
    result.load_addr = header.load_addr;
    result.entry = header.entry;
    return result;
}

} // namespace ai0::npu
