// SPDX-License-Identifier: GPL-2.0-only
#include "mmu.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include <sys/mman.h>

namespace ai0::npu {

namespace {

constexpr unsigned kLevels = 4;
constexpr unsigned kLevelBits = 9;
constexpr std::uint64_t kEntries = 1ULL << kLevelBits;

/* The lock is given up between pieces of this size, so that invalidation never waits long. */
constexpr std::uint64_t kCopyChunk = 1ULL << 20;

constexpr std::uint64_t level_bytes(unsigned level)
{
    return kPageBytes << (kLevelBits * level);
}

/* Half of what the host allows a process; the rest is for everything else. */
std::uint64_t host_map_limit()
{
    std::uint64_t limit = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> limit;
    return std::clamp<std::uint64_t>(limit / 2, 64, 1ULL << 20);
}

} // namespace

Mmu::Mmu(GuestMemory& memory, const Bar2& bar, Board& board, DoneFifo& done)
    : memory_(memory), bar_(bar), board_(board), done_(done), max_pieces_(host_map_limit())
{
}

Mmu::~Mmu()
{
    cache_.clear();
}

/* ---- tables ---- */

std::optional<Mmu::Leaf> Mmu::walk(BusAddress root, std::uint64_t va)
{
    BusAddress table = root;

    if (va >> NPU_VA_BITS)
        return std::nullopt;
    for (unsigned level = kLevels; level-- > 0;) {
        std::uint64_t index = va / level_bytes(level) % kEntries;
        std::uint64_t entry = 0;

        if (!memory_.read(table + index * sizeof(entry),
                          std::as_writable_bytes(std::span(&entry, 1))) ||
            !(entry & NPU_PTE_VALID))
            return std::nullopt;

        std::uint64_t address = entry & NPU_PTE_ADDR;
        if (!(entry & NPU_PTE_LEAF)) {
            table = BusAddress{address};
            continue;
        }
        if (level > 1 || address % level_bytes(level))
            return std::nullopt;
        std::uint64_t inside = va % level_bytes(level);
        return Leaf{
            .device = (entry & NPU_PTE_DEVICE) != 0,
            .address = address + inside,
            .bytes = level_bytes(level) - inside,
            .readable = (entry & NPU_PTE_READ) != 0,
            .writable = (entry & NPU_PTE_WRITE) != 0,
        };
    }
    return std::nullopt;
}

std::span<std::byte> Mmu::leaf_window(const Leaf& leaf, std::uint64_t bytes)
{
    if (!leaf.device)
        return memory_.window(BusAddress{leaf.address}, bytes);
    if (leaf.address >= bar_.mem_bytes() || bytes > bar_.mem_bytes() - leaf.address)
        return {};
    return bar_.memory().subspan(leaf.address, bytes);
}

std::optional<Mmu::Piece> Mmu::leaf_piece(const Leaf& leaf, std::uint64_t bytes)
{
    if (leaf.device) {
        if (leaf.address >= bar_.mem_bytes() || bytes > bar_.mem_bytes() - leaf.address)
            return std::nullopt;
        return Piece{bar_.fd(), kMemOffset + leaf.address, bytes};
    }
    std::optional<std::uint64_t> offset = memory_.file_offset(BusAddress{leaf.address}, bytes);
    int fd = memory_.fd();
    if (!offset || fd < 0)
        return std::nullopt;
    return Piece{fd, *offset, bytes};
}

/* ---- address spaces ---- */

npu_status Mmu::create(std::uint32_t asid, BusAddress root)
{
    std::lock_guard lock(mutex_);

    if (asid >= NPU_ASIDS || roots_[asid] || memory_.window(root, kPageBytes).empty())
        return NPU_ST_BAD_COMMAND;
    roots_[asid] = root;
    return NPU_ST_OK;
}

npu_status Mmu::destroy(std::uint32_t asid, std::uint32_t slot)
{
    Dropped dropped;
    std::lock_guard lock(mutex_);

    if (asid >= NPU_ASIDS || !roots_[asid])
        return NPU_ST_NOT_FOUND;
    roots_[asid].reset();
    return wait_for({asid, 0, 0}, slot, dropped);
}

npu_status Mmu::invalidate(std::uint32_t asid, DeviceAddress va, std::uint64_t bytes,
                           std::uint32_t slot)
{
    Dropped dropped;
    std::lock_guard lock(mutex_);

    if (asid >= NPU_ASIDS || !roots_[asid])
        return NPU_ST_NOT_FOUND;

    Key key{asid, 0, 0};
    if (bytes) {
        key.first_page = raw(va) >> kPageShift;
        key.pages = ((raw(va) + bytes - 1) >> kPageShift) - key.first_page + 1;
    }
    return wait_for(key, slot, dropped);
}

bool Mmu::overlaps(const Key& a, const Key& b)
{
    if (a.asid != b.asid)
        return false;
    if (!a.pages || !b.pages)
        return true;
    return a.first_page < b.first_page + b.pages && b.first_page < a.first_page + a.pages;
}

void Mmu::drop(const Key& key, Dropped& dropped)
{
    for (auto it = cache_.begin(); it != cache_.end();) {
        if (!overlaps(it->first, key)) {
            ++it;
            continue;
        }
        dropped.push_back(std::move(it->second.range));
        lru_.erase(it->second.used);
        it = cache_.erase(it);
    }
}

/*
 * What nobody holds goes with @dropped, whose owner frees it after the lock; that
 * completes the invalidation if nothing else is left of the range.
 */
npu_status Mmu::wait_for(const Key& key, std::uint32_t slot, Dropped& dropped)
{
    drop(key, dropped);
    invalidations_.push_back({key, serial_++, slot});
    complete_invalidations();
    return NPU_ST_OK;
}

void Mmu::complete_invalidations()
{
    for (auto it = invalidations_.begin(); it != invalidations_.end();) {
        bool in_use = std::any_of(live_.begin(), live_.end(), [&](const Range* range) {
            return range->serial <= it->serial && overlaps(range->key, it->key);
        });
        if (in_use) {
            ++it;
            continue;
        }
        done_.push(NPU_UNIT_MMU, it->slot, NPU_ST_OK);
        it = invalidations_.erase(it);
    }
}

/* ---- the TLB ---- */

void Mmu::release(Range* range)
{
    std::unique_ptr<Range> owner(range);
    std::lock_guard lock(mutex_);

    if (!range->host.empty())
        ::munmap(range->host.data(), range->host.size());
    pieces_ -= range->pieces;
    live_.erase(range);
    board_.maps = static_cast<std::uint32_t>(live_.size());
    board_.map_segments = static_cast<std::uint32_t>(pieces_);
    complete_invalidations();
}

/* Least recently used first; what an engine holds stays. */
void Mmu::evict(std::uint64_t room, Dropped& dropped)
{
    std::uint64_t freed = 0;
    auto it = lru_.end();

    while (pieces_ + room > max_pieces_ + freed && it != lru_.begin()) {
        --it;
        auto cached = cache_.find(*it);
        if (cached->second.range.use_count() > 1)
            continue;
        freed += cached->second.range->pieces;
        dropped.push_back(std::move(cached->second.range));
        cache_.erase(cached);
        it = lru_.erase(it);
    }
}

Mmu::Result Mmu::map(const Key& key, BusAddress root, Access access, std::shared_ptr<Range>& range)
{
    std::uint64_t va = key.first_page << kPageShift;
    std::uint64_t end = va + (key.pages << kPageShift);
    std::vector<Piece> pieces;
    bool readable = true, writable = true;

    while (va < end) {
        std::optional<Leaf> leaf = walk(root, va);
        if (!leaf || !(access == Access::kRead ? leaf->readable : leaf->writable))
            return {Result::kFault, DeviceAddress{va}};
        std::uint64_t bytes = std::min(leaf->bytes, end - va);
        std::optional<Piece> piece = leaf_piece(*leaf, bytes);
        if (!piece)
            return {Result::kFault, DeviceAddress{va}};
        readable = readable && leaf->readable;
        writable = writable && leaf->writable;
        if (!pieces.empty() && pieces.back().fd == piece->fd &&
            pieces.back().offset + pieces.back().bytes == piece->offset)
            pieces.back().bytes += bytes;
        else
            pieces.push_back(*piece);
        va += bytes;
        if (pieces.size() > max_pieces_ / 4)
            return {Result::kScattered, {}};
    }

    std::uint64_t bytes = key.pages << kPageShift;
    void* base =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return {Result::kScattered, {}};

    int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    std::byte* at = static_cast<std::byte*>(base);
    for (const Piece& piece : pieces) {
        if (::mmap(at, piece.bytes, prot, MAP_SHARED | MAP_FIXED, piece.fd,
                   static_cast<off_t>(piece.offset)) == MAP_FAILED) {
            ::munmap(base, bytes);
            return {Result::kScattered, {}};
        }
        at += piece.bytes;
    }

    auto made = std::make_unique<Range>(Range{this,
                                              key,
                                              serial_++,
                                              pieces.size(),
                                              readable,
                                              writable,
                                              {static_cast<std::byte*>(base), bytes}});
    live_.insert(made.get());
    pieces_ += pieces.size();
    board_.maps = static_cast<std::uint32_t>(live_.size());
    board_.map_segments = static_cast<std::uint32_t>(pieces_);
    range = std::shared_ptr<Range>(made.release(), [](Range* old) { old->mmu->release(old); });
    return {};
}

Mmu::Result Mmu::pin(std::uint32_t asid, DeviceAddress va, std::uint64_t bytes, Access access,
                     Pin& pin)
{
    Dropped dropped; /* freed after the lock */
    std::lock_guard lock(mutex_);

    if (asid >= NPU_ASIDS || !roots_[asid])
        return {Result::kNoSpace, {}};
    if (!bytes || raw(va) >> NPU_VA_BITS || bytes > (1ULL << NPU_VA_BITS) - raw(va))
        return {Result::kFault, va};

    Key key{asid, raw(va) >> kPageShift, 0};
    key.pages = ((raw(va) + bytes - 1) >> kPageShift) - key.first_page + 1;

    auto found = cache_.find(key);
    std::shared_ptr<Range> range;
    if (found != cache_.end()) {
        const Range& cached = *found->second.range;
        if (access == Access::kRead ? cached.readable : cached.writable) {
            lru_.splice(lru_.begin(), lru_, found->second.used);
            range = found->second.range;
        } else {
            /* The driver need not tell of permissions that were added. */
            drop(key, dropped);
        }
    }
    if (!range) {
        Result result = map(key, *roots_[asid], access, range);
        if (!result) {
            if (result.kind == Result::kFault)
                result.address = std::max(result.address, va);
            return result;
        }
        evict(0, dropped);
        lru_.push_front(key);
        cache_[key] = {range, lru_.begin()};
    }
    pin.range_ = range;
    pin.data_ = range->host.data() + raw(va) % kPageBytes;
    return {};
}

/* ---- copies ---- */

/* Bytes at @va up to the end of its leaf, at most @bytes. */
Mmu::Result Mmu::access(std::uint32_t asid, std::uint64_t va, Access access, std::uint64_t bytes,
                        std::span<std::byte>& window)
{
    if (asid >= NPU_ASIDS || !roots_[asid])
        return {Result::kNoSpace, {}};

    std::optional<Leaf> leaf = walk(*roots_[asid], va);
    if (!leaf || !(access == Access::kRead ? leaf->readable : leaf->writable))
        return {Result::kFault, DeviceAddress{va}};
    window = leaf_window(*leaf, std::min(leaf->bytes, bytes));
    if (window.empty())
        return {Result::kFault, DeviceAddress{va}};
    return {};
}

Mmu::Result Mmu::read(std::uint32_t asid, DeviceAddress from, std::span<std::byte> to)
{
    std::uint64_t va = raw(from);

    while (!to.empty()) {
        std::lock_guard lock(mutex_);
        for (std::uint64_t chunk = 0; chunk < kCopyChunk && !to.empty();) {
            std::span<std::byte> window;
            Result result = access(asid, va, Access::kRead, to.size(), window);
            if (!result)
                return result;
            std::memcpy(to.data(), window.data(), window.size());
            to = to.subspan(window.size());
            va += window.size();
            chunk += window.size();
        }
    }
    return {};
}

Mmu::Result Mmu::write(std::uint32_t asid, DeviceAddress to, std::span<const std::byte> from)
{
    std::uint64_t va = raw(to);

    while (!from.empty()) {
        std::lock_guard lock(mutex_);
        for (std::uint64_t chunk = 0; chunk < kCopyChunk && !from.empty();) {
            std::span<std::byte> window;
            Result result = access(asid, va, Access::kWrite, from.size(), window);
            if (!result)
                return result;
            std::memcpy(window.data(), from.data(), window.size());
            from = from.subspan(window.size());
            va += window.size();
            chunk += window.size();
        }
    }
    return {};
}

Mmu::Result Mmu::copy_some(std::uint32_t asid, DeviceAddress to, DeviceAddress from,
                           std::uint64_t bytes, std::uint64_t& moved)
{
    std::uint64_t limit = std::min(bytes, kCopyChunk);
    std::lock_guard lock(mutex_);

    moved = 0;
    while (moved < limit) {
        std::span<std::byte> source, target;
        Result result = access(asid, raw(from) + moved, Access::kRead, limit - moved, source);
        if (result)
            result = access(asid, raw(to) + moved, Access::kWrite, source.size(), target);
        if (!result)
            return result;
        std::memmove(target.data(), source.data(), target.size());
        moved += target.size();
    }
    return {};
}

} // namespace ai0::npu
