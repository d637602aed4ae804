/* SPDX-License-Identifier: Apache-2.0 */
#include "recogniser.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include "planes.h"

namespace ai_ocr {

namespace {

constexpr int kHeight = 48;
/* What the model was trained with; shorter lines are padded to it. */
constexpr int kLeastWidth = 320;

constexpr std::array<float, 3> kMean{0.5F, 0.5F, 0.5F};
constexpr std::array<float, 3> kDeviation{0.5F, 0.5F, 0.5F};

} // namespace

LineSize recogniser_size(cv::Size line)
{
    double ratio = static_cast<double>(line.width) / line.height;
    int width = std::max(static_cast<int>(std::ceil(kHeight * ratio)), 1);

    return {{width, kHeight}, std::max(width, kLeastWidth)};
}

ai::Result<Recogniser::Read> Recogniser::recognise(const cv::Mat& line)
{
    LineSize size = recogniser_size(line.size());
    ai::Result<std::span<float>> planes = model_.input(ai::Shape(1, 3, kHeight, size.padded));
    if (!planes)
        return std::move(planes).error();

    cv::Mat resized;
    cv::resize(line, resized, size.picture);
    to_planes(resized, kMean, kDeviation, *planes, size.padded);

    ai::Result<RunnerModel::Output> output = model_.run();
    if (!output)
        return std::move(output).error();
    if (output->shape.rank() != 3 || output->shape[2] != alphabet_.classes())
        return ai::Error{EINVAL, "the recognition model gave " + ai::to_string(output->shape) +
                                     ", its dictionary makes " +
                                     std::to_string(alphabet_.classes()) +
                                     " classes: they do not belong together"};
    return Read{decode_greedily(output->data, alphabet_), std::move(output->record)};
}

} // namespace ai_ocr
