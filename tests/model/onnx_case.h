/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Models and tensors for tests: small models made here, and cases of the ONNX
 * backend suite.
 */
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ai0::test {

struct Tensor {
    std::uint32_t dtype = 1;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> data;
};

template <typename T>
Tensor make_tensor(std::uint32_t dtype, std::vector<std::int64_t> shape, const std::vector<T>& data)
{
    Tensor tensor{dtype, std::move(shape), {}};
    auto bytes = std::as_bytes(std::span(data));

    tensor.data.assign(bytes.begin(), bytes.end());
    return tensor;
}

inline Tensor floats(std::vector<std::int64_t> shape, const std::vector<float>& data)
{
    return make_tensor(1, std::move(shape), data);
}

struct TestSet {
    std::vector<Tensor> inputs, outputs;
};

struct Case {
    std::string name;
    std::vector<std::byte> model;
    std::vector<TestSet> sets;
    std::string unusable; /* why the case cannot be run on any device, if so */
};

std::filesystem::path suite_folder();
Case read_case(const std::filesystem::path& folder);

/* Within the tolerances of the suite. Empty if equal, else what differs. */
std::string compare(const Tensor& found, const Tensor& needed);

/* ---- models made here; in shapes -1 is a free dimension named n, kUnnamed one without name ----
 */

using Bytes = std::vector<std::byte>;

inline constexpr std::int64_t kUnnamed = -2;

/* y = op(x, ...), all of float, with these shapes. */
Bytes one_op_model(const std::string& op, const std::vector<std::vector<std::int64_t>>& inputs,
                   const std::vector<std::int64_t>& output, std::int32_t output_type = 1);
/* y = a[n] and b[n] after each other; @output is what the model says of its length. */
Bytes concat_model(std::int64_t output);
/* x as it is, and -x */
Bytes pass_through_model();
/* -x, without a word on shapes */
Bytes any_shape_model();
/* A weight as it is, and the weight added to x */
Bytes constant_output_model();
/* y of as many zeroes as x says */
Bytes huge_model();
/* y = Neg and Relu in turn, @depth of them, of x[n, width] */
Bytes deep_model(int depth, std::int64_t width);
/* y = x @ w repeated @depth times, w of @size squared: takes time */
Bytes heavy_model(int depth, std::int64_t size);
/* A model whose weight is in a file beside it. */
Bytes external_data_model(const std::string& file);
/* A model with a sequence as its output. */
Bytes sequence_model();
/* A model with an operator that does not exist. */
Bytes unknown_op_model();

} // namespace ai0::test
