/* SPDX-License-Identifier: Apache-2.0 */
/* A file seen as memory, read-only. */
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <ai/result.h>

namespace ai::detail {

class MappedFile {
public:
    static Result<MappedFile> open(const std::string& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    ~MappedFile();

    std::span<const std::byte> data() const { return data_; }

private:
    explicit MappedFile(std::span<std::byte> data) : data_(data) {}

    std::span<std::byte> data_;
};

} // namespace ai::detail
