/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compiled models on disk. An entry is named by everything that it depends on,
 * carries a digest of itself, and is written under another name first: a reader
 * sees a whole and right entry, or none.
 */
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../image/signing.h"
#include "board.h"

namespace ai0::npu {

class CompileCache {
public:
    static constexpr std::uint64_t kMaxBytes = 2ULL << 30;

    CompileCache(std::filesystem::path folder, Board& board, std::uint64_t max_bytes = kMaxBytes);

    /* Name of the entry for a model compiled by this firmware, engine and options. */
    static Sha256 key(const Sha256& model, std::uint32_t firmware, const std::string& engine,
                      const std::string& options);

    /* The compiled model, or nothing; an entry that is damaged is removed. */
    std::optional<std::vector<std::byte>> get(const Sha256& key);

    void put(const Sha256& key, std::span<const std::byte> compiled);

    /* Where the engine may write a compiled model before it is put; unique in this process. */
    std::filesystem::path scratch();

private:
    std::filesystem::path path_of(const Sha256& key) const;
    void trim();

    const std::filesystem::path folder_;
    Board& board_;
    const std::uint64_t max_bytes_;
    std::mutex mutex_;
    unsigned scratch_ = 0;
};

} // namespace ai0::npu
