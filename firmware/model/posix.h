/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owners of what the operating system gives: descriptors and mappings.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace ai0::npu {

class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept
    {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~UniqueFd() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void reset()
    {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = -1;
    }

private:
    int fd_ = -1;
};

/* A mapping, unmapped with its owner. Empty if it could not be made. */
class Mapping {
public:
    Mapping() = default;
    Mapping(std::size_t bytes, int prot, int flags, int fd, std::uint64_t offset)
    {
        void* at = ::mmap(nullptr, bytes, prot, flags, fd, static_cast<off_t>(offset));

        if (at != MAP_FAILED)
            bytes_ = {static_cast<std::byte*>(at), bytes};
    }
    Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept
    {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping()
    {
        if (!bytes_.empty())
            ::munmap(bytes_.data(), bytes_.size());
    }

    explicit operator bool() const { return !bytes_.empty(); }
    std::span<std::byte> bytes() const { return bytes_; }
    std::byte* data() const { return bytes_.data(); }
    std::size_t size() const { return bytes_.size(); }

    static Mapping anonymous(std::size_t bytes)
    {
        return {bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0};
    }

private:
    std::span<std::byte> bytes_;
};

/* Adds 1 to an eventfd; a counter that is full has been seen by nobody for long. */
void event_raise(int fd);

/* Takes what an eventfd or a timerfd has counted; false if nothing. Never blocks. */
bool event_take(int fd);

UniqueFd event_make();

/* Text of errno. */
std::string errno_text(int error);

} // namespace ai0::npu
