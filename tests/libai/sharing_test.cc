/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

namespace {

using namespace ai::literals;
using namespace std::chrono_literals;

using Sharing = WithKernel;

TEST_F(Sharing, WhatIsImportedIsMappedAndGivenBack)
{
    ai::Session session = open();
    std::shared_ptr<ai::Buffer> buffer =
        ai::Buffer::import(session, 5, {.offset = 4_KiB, .size = 8_KiB}).or_throw();

    EXPECT_EQ(kernel->last_import.fd, 5);
    EXPECT_EQ(kernel->last_import.offset, 4096);
    EXPECT_EQ(kernel->last_import.perm, AI_PERM_READ | AI_PERM_WRITE);
    EXPECT_EQ(buffer->size(), 8_KiB);
    EXPECT_EQ(buffer->origin(), ai::Origin::kDmaBuf);
    EXPECT_TRUE(buffer->is_writable());
    buffer->data()[5] = std::byte{1};
    buffer.reset();
    EXPECT_EQ(kernel->unmaps, 1);
    EXPECT_EQ(kernel->live_ranges(), 0);
}

TEST_F(Sharing, WhatIsReadOnlyIsMappedSo)
{
    kernel->imports_read_only = true;
    std::shared_ptr<ai::Buffer> buffer =
        ai::Buffer::import(open(), 5, {.access = ai::Access::kRead}).or_throw();

    EXPECT_FALSE(buffer->is_writable());
    EXPECT_EQ(buffer->size(), 16_KiB);
    EXPECT_EQ(kernel->last_import.perm, AI_PERM_READ);
}

TEST_F(Sharing, WhatCannotBeMappedIsGivenBack)
{
    ai::Session session = open();

    kernel->imports_cannot_be_mapped = true;
    ai::Result<std::shared_ptr<ai::Buffer>> buffer = ai::Buffer::import(session, 5);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, ENOMEM);
    EXPECT_EQ(kernel->unmaps, 0);
    EXPECT_EQ(kernel->live_ranges(), 0);
    EXPECT_EQ(ai::Buffer::import(session, -1).error().code, EBADF);
}

TEST_F(Sharing, MemoryOfTheProcessStaysWhereItIs)
{
    std::vector<std::byte> memory(8192);
    std::shared_ptr<ai::Buffer> buffer =
        ai::Buffer::register_memory(open(), memory, ai::Access::kRead).or_throw();

    EXPECT_EQ(kernel->last_import.kind, AI_IMPORT_USER);
    EXPECT_EQ(kernel->last_import.address, reinterpret_cast<std::uintptr_t>(memory.data()));
    EXPECT_EQ(buffer->data().data(), memory.data());
    EXPECT_EQ(buffer->origin(), ai::Origin::kProcessMemory);
    buffer.reset();
    EXPECT_EQ(kernel->unmaps, 0);
    EXPECT_EQ(kernel->live_ranges(), 0);
}

TEST_F(Sharing, ADescriptorHasOneOwner)
{
    std::shared_ptr<ai::Buffer> buffer = ai::Buffer::allocate(open(), 8_KiB).or_throw();
    ai::UniqueFd fd = buffer->share({.offset = 4_KiB, .size = 4_KiB, .read_only = true}).or_throw();

    EXPECT_TRUE(fd.is_valid());
    EXPECT_EQ(kernel->last_export.hdr.flags, AI_EXPORT_READ_ONLY);
    EXPECT_EQ(kernel->last_export.offset, 4096);
    EXPECT_EQ(kernel->last_export.bytes, 4096);
}

TEST_F(Sharing, UseBeginsAndEndsOnce)
{
    std::shared_ptr<ai::Buffer> buffer = ai::Buffer::allocate(open(), 8_KiB).or_throw();
    {
        ai::CpuUse use = buffer->use(ai::Access::kRead).or_throw();
        ai::CpuUse moved = std::move(use);
        ASSERT_EQ(kernel->syncs.size(), 1);
        EXPECT_EQ(kernel->syncs[0], std::pair(AI_SYNC_READ, std::int64_t{0}));
    }
    ASSERT_EQ(kernel->syncs.size(), 2);
    EXPECT_EQ(kernel->syncs[1].first, AI_SYNC_READ | AI_SYNC_END);
    {
        ai::CpuUse use = buffer->use(ai::Access::kReadWrite, 1s).or_throw();
        EXPECT_GT(kernel->syncs[2].second, 0);
        EXPECT_TRUE(use.end());
        EXPECT_TRUE(use.end());
    }
    EXPECT_EQ(kernel->syncs.size(), 4);
}

} // namespace
