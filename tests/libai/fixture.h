/* SPDX-License-Identifier: Apache-2.0 */
/* A session on a fake kernel; the library must have obeyed the interface at the end. */
#pragma once

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ai/ai.h>

#include "fake_kernel.h"

class WithKernel : public testing::Test {
public:
    ~WithKernel() override { EXPECT_THAT(kernel->violations, testing::IsEmpty()); }

protected:
    WithKernel() : kernel(std::make_shared<FakeKernel>()) {}

    ai::Session open() { return ai::Session::open("/dev/ai0", kernel).or_throw(); }

    /* A model with one input and one output of float32. */
    ai::Model load(const ai::Session& session, std::vector<std::int64_t> input,
                   std::vector<std::int64_t> output)
    {
        kernel->model = {{tensor_info("x", AI_DTYPE_FLOAT, std::move(input))},
                         {tensor_info("y", AI_DTYPE_FLOAT, std::move(output))}};
        return ai::Model::load(session, artefact).or_throw();
    }

    std::shared_ptr<FakeKernel> kernel;
    std::vector<std::byte> artefact = std::vector<std::byte>(16, std::byte{7});
};
