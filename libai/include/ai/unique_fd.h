/* SPDX-License-Identifier: Apache-2.0 */
/* A file descriptor with one owner. */
#pragma once

#include <utility>

#include <unistd.h>

namespace ai {

/* Closes its descriptor when it goes. Move-only; one thread at a time. */
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept
    {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    /* -1 when there is none. The descriptor stays owned by this object. */
    int get() const noexcept { return fd_; }
    bool is_valid() const noexcept { return fd_ >= 0; }

    /* Gives the descriptor, and its ownership, to the caller. */
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

    void reset(int fd = -1) noexcept
    {
        int old = std::exchange(fd_, fd);
        if (old >= 0)
            ::close(old);
    }

private:
    int fd_ = -1;
};

} // namespace ai
