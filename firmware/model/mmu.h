/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MMU: walks the driver's page tables in system memory and gives the engines
 * the pages themselves.
 *
 * A range of device addresses is mapped in the host as one contiguous range, page
 * by page out of the guest's memory file or device memory, and kept: that is the
 * TLB. An engine holds what it uses. Invalidation takes a range out of the TLB
 * and is complete when no engine holds it any more.
 *
 * Walking a table and entering the result is one step under the lock, and so is
 * invalidation; entries that were cleared before an invalidation began can
 * therefore not be in use after it has completed.
 */
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "address.h"
#include "bar2.h"
#include "board.h"
#include "done_fifo.h"
#include "guest_memory.h"

namespace ai0::npu {

enum class Access { kRead, kWrite };

class Mmu {
    struct Range;

public:
    /* Pages in use. The range stays mapped as long as one of these lives. */
    class Pin {
    public:
        Pin() = default;
        std::byte* data() const { return data_; }

    private:
        friend class Mmu;
        std::shared_ptr<Range> range_;
        std::byte* data_ = nullptr;
    };

    struct Result {
        enum Kind {
            kOk,
            kNoSpace,   /* no such address space */
            kFault,     /* at @address */
            kScattered, /* in too many pieces to be mapped; copy instead */
        };
        Kind kind = kOk;
        DeviceAddress address{};

        explicit operator bool() const { return kind == kOk; }
    };

    Mmu(GuestMemory& memory, const Bar2& bar, Board& board, DoneFifo& done);
    ~Mmu();

    /* BAD_COMMAND if it exists or the root is not in memory. */
    npu_status create(std::uint32_t asid, BusAddress root);

    /* Both complete in the FIFO for @slot, unless they give NOT_FOUND. */
    npu_status destroy(std::uint32_t asid, std::uint32_t slot);
    npu_status invalidate(std::uint32_t asid, DeviceAddress va, std::uint64_t bytes,
                          std::uint32_t slot);

    /* @bytes must not be 0. */
    Result pin(std::uint32_t asid, DeviceAddress va, std::uint64_t bytes, Access access, Pin& pin);

    /* Copies by the device's DMA; stop at the first fault. */
    Result read(std::uint32_t asid, DeviceAddress from, std::span<std::byte> to);
    Result write(std::uint32_t asid, DeviceAddress to, std::span<const std::byte> from);

    /* Moves at most @bytes, sets @moved to how many. Call again for the rest. */
    Result copy_some(std::uint32_t asid, DeviceAddress to, DeviceAddress from, std::uint64_t bytes,
                     std::uint64_t& moved);

private:
    struct Key {
        std::uint32_t asid;
        std::uint64_t first_page;
        std::uint64_t pages;
        bool operator<(const Key& other) const
        {
            return std::tie(asid, first_page, pages) <
                   std::tie(other.asid, other.first_page, other.pages);
        }
    };

    /* Pages that follow each other in a file and are mapped by one call. */
    struct Piece {
        int fd;
        std::uint64_t offset;
        std::uint64_t bytes;
    };

    struct Range {
        Mmu* mmu;
        Key key;
        std::uint64_t serial;
        std::uint64_t pieces;
        bool readable;
        bool writable;
        std::span<std::byte> host;
    };

    struct Cached {
        std::shared_ptr<Range> range;
        std::list<Key>::iterator used; /* place in lru_ */
    };

    /* One page as the table has it. */
    struct Leaf {
        bool device;
        std::uint64_t address; /* bus address, or offset in device memory */
        std::uint64_t bytes;   /* from there to the end of the leaf */
        bool readable;
        bool writable;
    };

    struct Invalidation {
        Key key; /* pages 0: the whole address space */
        std::uint64_t serial;
        std::uint32_t slot;
    };

    using Dropped = std::vector<std::shared_ptr<Range>>;

    std::optional<Leaf> walk(BusAddress root, std::uint64_t va);
    std::span<std::byte> leaf_window(const Leaf& leaf, std::uint64_t bytes);
    std::optional<Piece> leaf_piece(const Leaf& leaf, std::uint64_t bytes);
    Result access(std::uint32_t asid, std::uint64_t va, Access access, std::uint64_t bytes,
                  std::span<std::byte>& window);
    Result map(const Key& key, BusAddress root, Access access, std::shared_ptr<Range>& range);
    void evict(std::uint64_t room, Dropped& dropped);
    void drop(const Key& key, Dropped& dropped);
    npu_status wait_for(const Key& key, std::uint32_t slot, Dropped& dropped);
    void release(Range* range);
    void complete_invalidations();
    static bool overlaps(const Key& a, const Key& b);

    GuestMemory& memory_;
    const Bar2& bar_;
    Board& board_;
    DoneFifo& done_;
    std::uint64_t max_pieces_;

    std::mutex mutex_;
    std::array<std::optional<BusAddress>, NPU_ASIDS> roots_;
    std::map<Key, Cached> cache_;
    std::list<Key> lru_;    /* most recently used first */
    std::set<Range*> live_; /* cached, held, or both */
    std::list<Invalidation> invalidations_;
    std::uint64_t serial_ = 0;
    std::uint64_t pieces_ = 0;
};

} // namespace ai0::npu
