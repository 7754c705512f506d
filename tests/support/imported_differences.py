"""Imported models that cannot agree with TVM's own machine, by name, with the reason of each; no others are excused."""

_SHIFT = "a shift by a negative number, or by the width of the dtype, means something else on every machine"
_EMPTY = "TVM leaves the result of a reduction over nothing unwritten"
_TRIMMED = "TVM's kernels give fewer rows than the type declares, and call its sorting functions"
_SORTING = "its lowered form calls TVM's sorting functions"
_EXPAND = "the importer broadcasts to the shape that is given, not to that of data and shape together"

# Values, or that there are none.
VALUES: dict[str, str] = {
    "test_bitshift_left_int32_negative_shift": _SHIFT,
    "test_bitshift_left_int32_shift_ge_width": _SHIFT,
    "test_expand_dim_changed": _EXPAND,
    "test_nonmaxsuppression_center_point_box_format": _TRIMMED,
    "test_nonmaxsuppression_flipped_coordinates": _TRIMMED,
    "test_nonmaxsuppression_identical_boxes": _TRIMMED,
    "test_nonmaxsuppression_iou_threshold_boundary": _TRIMMED,
    "test_nonmaxsuppression_limit_output_size": _TRIMMED,
    "test_nonmaxsuppression_single_box": _TRIMMED,
    "test_reduce_l1_empty_set": _EMPTY,
    "test_reduce_l2_empty_set": _EMPTY,
    "test_reduce_log_sum_empty_set": _EMPTY,
    "test_reduce_log_sum_exp_empty_set": _EMPTY,
    "test_reduce_max_empty_set": _EMPTY,
    "test_reduce_min_empty_set": _EMPTY,
    "test_reduce_prod_empty_set": _EMPTY,
    "test_reduce_sum_square_empty_set": _EMPTY,
}
# Values of the lowered forms alone.
LOWERED: dict[str, str] = {"torch median": _SORTING, "torch median of all": _SORTING}
