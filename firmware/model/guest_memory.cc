// SPDX-License-Identifier: GPL-2.0-only
#include "guest_memory.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "log.h"

namespace ai0::npu {

namespace {

constexpr std::uint64_t kHighBase = 4ULL << 30;

template <typename T> bool one_word(const void* a, const void* b, std::size_t bytes)
{
    return bytes == sizeof(T) && reinterpret_cast<std::uintptr_t>(a) % sizeof(T) == 0 &&
           reinterpret_cast<std::uintptr_t>(b) % sizeof(T) == 0;
}

template <typename T> void load_word(std::byte* to, const std::byte* from)
{
    T word = __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_ACQUIRE);
    std::memcpy(to, &word, sizeof(word));
}

template <typename T> void store_word(std::byte* to, const std::byte* from)
{
    T word;
    std::memcpy(&word, from, sizeof(word));
    __atomic_store_n(reinterpret_cast<T*>(to), word, __ATOMIC_RELEASE);
}

} // namespace

GuestMemory::GuestMemory(std::string path, std::uint64_t bytes, std::uint64_t lowmem)
    : path_(std::move(path)), bytes_(bytes), lowmem_(lowmem)
{
}

bool GuestMemory::open()
{
    if (base_.load(std::memory_order_acquire))
        return true;

    std::lock_guard lock(mutex_);
    if (base_.load(std::memory_order_relaxed))
        return true;

    struct stat info = {};
    UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    std::string why;
    if (!fd || ::fstat(fd.get(), &info))
        why = errno_text(errno);
    else if (static_cast<std::uint64_t>(info.st_size) < bytes_)
        why = "it has " + std::to_string(info.st_size) + " bytes, needed are " +
              std::to_string(bytes_);
    else
        mapping_ = Mapping(bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (!mapping_) {
        if (!reported_)
            log_line("the guest's memory " + path_ +
                     " cannot be reached: " + (why.empty() ? errno_text(errno) : why));
        reported_ = true;
        return false;
    }
    fd_ = std::move(fd);
    base_.store(mapping_.data(), std::memory_order_release);
    return true;
}

int GuestMemory::fd()
{
    return open() ? fd_.get() : -1;
}

std::optional<std::uint64_t> GuestMemory::file_offset(BusAddress address, std::uint64_t bytes) const
{
    std::uint64_t at = raw(address);

    if (at < lowmem_ && bytes <= lowmem_ - at)
        return at;
    if (at >= kHighBase && at - kHighBase < bytes_ - lowmem_ &&
        bytes <= bytes_ - lowmem_ - (at - kHighBase))
        return at - kHighBase + lowmem_;
    return std::nullopt;
}

std::span<std::byte> GuestMemory::window(BusAddress address, std::uint64_t bytes)
{
    std::optional<std::uint64_t> offset = file_offset(address, bytes);

    if (!offset || !bytes || !open())
        return {};
    return {base_.load(std::memory_order_relaxed) + *offset, bytes};
}

bool GuestMemory::read(BusAddress from, std::span<std::byte> to)
{
    std::span<std::byte> memory = window(from, to.size());

    if (memory.empty())
        return to.empty();
    if (one_word<std::uint32_t>(memory.data(), to.data(), to.size()))
        load_word<std::uint32_t>(to.data(), memory.data());
    else if (one_word<std::uint64_t>(memory.data(), to.data(), to.size()))
        load_word<std::uint64_t>(to.data(), memory.data());
    else
        std::memcpy(to.data(), memory.data(), to.size());
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
}

bool GuestMemory::write(BusAddress to, std::span<const std::byte> from)
{
    std::span<std::byte> memory = window(to, from.size());

    if (memory.empty())
        return from.empty();
    std::atomic_thread_fence(std::memory_order_release);
    if (one_word<std::uint32_t>(memory.data(), from.data(), from.size()))
        store_word<std::uint32_t>(memory.data(), from.data());
    else if (one_word<std::uint64_t>(memory.data(), from.data(), from.size()))
        store_word<std::uint64_t>(memory.data(), from.data());
    else
        std::memcpy(memory.data(), from.data(), from.size());
    return true;
}

} // namespace ai0::npu
