/* SPDX-License-Identifier: Apache-2.0 */
/* Text recognition of PP-OCRv4: one line of text, cut out and upright, at a time. */
#pragma once

#include <opencv2/core.hpp>

#include <ai/result.h>

#include "ctc.h"
#include "runner.h"

namespace ai_ocr {

/* The size at which the model sees a line, and the width it is padded to. */
struct LineSize {
    cv::Size picture;
    int padded = 0;
};
LineSize recogniser_size(cv::Size line);

class Recogniser {
public:
    Recogniser(RunnerModel& model, Alphabet alphabet)
        : model_(model), alphabet_(std::move(alphabet))
    {
    }

    struct Read {
        Text text;
        ai::Record record;
    };
    ai::Result<Read> recognise(const cv::Mat& line);

private:
    RunnerModel& model_;
    Alphabet alphabet_;
};

} // namespace ai_ocr
