"""The blocks of the table of names that are the language: theano.tensor, .scalar, .sparse, .typed_list. Pure data."""

_DTYPES = "bwilfdcz"
_KINDS = ("scalar", "vector", "matrix", "row", "col", *[f"tensor{n}" for n in range(3, 8)])
_PLURALS = [k + "s" if k != "matrix" else "matrices" for k in _KINDS]
_CONSTRUCTORS = " ".join(f"{d}{k}" for d in ("", *_DTYPES) for k in (*_KINDS, *_PLURALS))
_ELEMWISE_NAMES = (
    "abs_ and_ angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or "
    "bitwise_xor ceil clip complex conj cos cosh deg2rad eq erf erfc erfcinv erfcx erfinv exp exp2 expm1 floor "
    "floor_div gamma gammaln ge gt imag int_div invert isclose isinf isnan le log log10 log1p log2 lt "
    "maximum minimum mod mul neg neq or_ pow power psi rad2deg real round_half_to_even sgn sin sinh sqr sqrt "
    "square sub tan tanh true_div trunc where xor add "
)
_INPLACE = (
    "lt gt le ge eq neq and_ or_ xor invert abs_ exp exp2 expm1 neg log log1p log2 log10 sgn ceil floor trunc "
    "round_half_to_even sqr sqrt deg2rad rad2deg cos arccos sin arcsin tan arctan arctan2 cosh arccosh sinh "
    "arcsinh tanh arctanh erf erfc erfcx gamma gammaln psi maximum minimum add sub mul true_div int_div mod pow "
    "conj "
)
_OVERWRITING = " ".join(f"{n}_inplace={n}" for n in _INPLACE.split())
_SCALAR_CLASSES = (
    "Add Mul Sub TrueDiv IntDiv Mod Pow Clip Second Identity Cast Abs Sgn Ceil Floor Trunc RoundHalfToEven "
    "RoundHalfAwayFromZero Neg Inv Log Log2 Log10 Log1p Exp Exp2 Expm1 Sqr Sqrt Deg2Rad Rad2Deg Cos ArcCos Sin "
    "ArcSin Tan ArcTan ArcTan2 Cosh ArcCosh Sinh ArcSinh Tanh ArcTanh Real Imag Angle Complex Conj LT GT LE GE EQ "
    "NEQ IsNan IsInf Switch OR XOR AND Invert Maximum Minimum Erf Erfc Erfcx Erfinv Erfcinv Gamma GammaLn Psi "
)

_BASIC = f"""
    T: {_CONSTRUCTORS}
    T: {_ELEMWISE_NAMES}
    language: TensorVariable
    T: Apply Constant Variable TensorConstant TensorSharedVariable addbroadcast all any arange
    T: argmax argmin batched_dot batched_tensordot cast cumprod cumsum extract_diag eye flatnonzero identity_like join
    T: matrix max min nonzero nonzero_values ones patternbroadcast power reshape roll set_subtensor inc_subtensor shape
    T: tensordot tile transpose unbroadcast zeros dot repeat squeeze argtopk topk_and_argtopk fill_diagonal diff
    T: to_one_hot take specify_shape transfer inner sigmoid softplus
    arguments: sum prod mean var std max_and_argmax ptp topk sort argsort searchsorted concatenate split choose
    arguments: ones_like zeros_like tri tril triu diag diagonal outer flatten swapaxes compress round iround
    arguments: shape_padleft shape_padright shape_padaxis vertical_stack horizontal_stack switch
    extra: bincount unravel_index ravel_multi_index
    T: allclose cov mgrid ogrid j0 j1 jv i0 i1 iv gammainc gammaincc
    language: as_tensor_variable as_tensor=as_tensor_variable constant alloc tensor fill second stack stacklists inv
    T: chi2sf tri_gamma gammau gammal inverse_permutation
    language: ceil_intdiv divmod smallest largest get_vector_length
    language: get_scalar_constant_value extract_constant tensor_copy default setdefault permute_row_elements
    language: complex_from_polar is_flat round_half_away_from_zero bartlett fill_diagonal_offset
    language: check_and_normalize_axes makeKeepDims numpy_diagonal_return_view AsTensorError NotScalarConstantError
    language: EmptyConstantError discrete_dtypes float_dtypes int_dtypes uint_dtypes integer_dtypes complex_dtypes
    language: continuous_dtypes all_dtypes int_types float_types complex_types python_complex python_any python_all
    language: TensorType tensor_from_scalar scalar_from_tensor allocempty isnan_ isinf_ div_proxy mod_check
    language: int_scalar_types float_scalar_types complex_scalar_types int_vector_types float_vector_types
    language: complex_vector_types int_matrix_types float_matrix_types complex_matrix_types
    language: xlogx xlogy0 register_transfer check_equal_numpy numpy_scalar NumpyAutocaster
    gradients: grad Rop Lop jacobian hessian verify_grad numeric_grad
    marks: consider_constant
    writing: Op
    classes: Elemwise DimShuffle CAReduce CAReduceDtype Sum Prod ProdWithoutZeros All Any MaxAndArgmax Argmax Dot
    T: join_=join
    classes: Reshape Flatten Join Split Alloc AllocEmpty ARange Eye Tri Tile Nonzero Choose ExtractDiag AllocDiag Mean
    classes: TensorFromScalar ScalarFromTensor Default PermuteRowElements Rebroadcast SpecifyShape
    errors: ShapeError
    shared: SharedVariable
    compiling: shared
    numpy: numpy=.
"""

_NNET = """
    nnet: sigmoid softplus tanh relu elu selu softsign hard_sigmoid ultra_fast_sigmoid binary_crossentropy
    nnet: sigmoid_binary_crossentropy categorical_crossentropy crossentropy_categorical_1hot
    nnet: crossentropy_softmax_1hot crossentropy_softmax_1hot_with_bias crossentropy_softmax_argmax_1hot_with_bias
    nnet: crossentropy_softmax_max_and_argmax_1hot
    layers: softmax logsoftmax softmax_with_bias softmax_graph=softmax softmax_op=softmax logsoftmax_op=logsoftmax
    nnet: h_softmax confusion_matrix
    layers: prepend_scalar_to_each_row prepend_0_to_each_row prepend_1_to_each_row
    layers: crossentropy_softmax_max_and_argmax_1hot_with_bias
    nnet: scalar_sigmoid=sigmoid scalar_softplus=softplus scalar_softsign=softsign sigmoid_inplace=sigmoid
    nnet: ultra_fast_sigmoid_inplace=ultra_fast_sigmoid ultra_fast_scalar_sigmoid=ultra_fast_sigmoid
    classes: Softmax LogSoftmax SoftmaxWithBias SoftmaxGrad CrossentropySoftmaxArgmax1HotWithBias
    classes: CrossentropySoftmax1HotWithBiasDx CrossentropyCategorical1Hot CrossentropyCategorical1HotGrad
    classes: Prepend_scalar_constant_to_each_row Prepend_scalar_to_each_row ScalarSigmoid ScalarSoftplus ScalarSoftsign
    classes: UltraFastScalarSigmoid
    !inner_op: softmax_grad crossentropy_categorical_1hot_grad crossentropy_softmax_1hot_with_bias_dx
    !rewriting: softmax_simplifier crossentropy_to_crossentropy_with_softmax
    !rewriting: crossentropy_to_crossentropy_with_softmax_with_bias graph_merge_softmax_with_crossentropy_softmax
    !rewriting: local_logsoftmax local_softmax_with_bias local_argmax_pushdown
"""

_CONV = """
    layers: conv2d conv3d conv2d_transpose conv2d_grad_wrt_inputs conv2d_grad_wrt_weights conv3d_grad_wrt_inputs
    layers: conv3d_grad_wrt_weights abstract_conv2d=conv2d separable_conv2d separable_conv3d causal_conv1d
    layers: bilinear_upsampling frac_bilinear_upsampling bilinear_kernel_1D bilinear_kernel_2D
    shapes: get_conv_output_shape get_conv_shape_1axis get_conv_gradweights_shape get_conv_gradweights_shape_1axis
    shapes: get_conv_gradinputs_shape get_conv_gradinputs_shape_1axis check_conv_gradinputs_shape border_mode_to_pad
    shapes: assert_conv_shape assert_shape
    classes: AbstractConv AbstractConv2d AbstractConv3d AbstractConv_gradWeights AbstractConv2d_gradWeights
    classes: AbstractConv3d_gradWeights AbstractConv_gradInputs AbstractConv2d_gradInputs AbstractConv3d_gradInputs
    classes: BaseAbstractConv
"""

LANGUAGE: dict[str, str] = {
    # ------------------------------------------------------------------ the language
    "tensor": f"""
        {_BASIC}
        as: tensor.extra_ops tensor.sort tensor.subtensor
        language: TensorConstantSignature
        classes: Shape
        kinds: NoneConst
        linear: lstsq
    """,
    "tensor.basic": _BASIC,
    "tensor.var": """
        language: TensorVariable
        T: TensorConstant _tensor_py_operators=TensorVariable
        language: AsTensorError TensorConstantSignature
        kinds: equal_slices
    """,
    "tensor.type": """
        language: TensorType
        kinds: values_eq_approx values_eq_approx_remove_inf values_eq_approx_remove_nan
        kinds: values_eq_approx_remove_inf_nan values_eq_approx_always_true
    """,
    "tensor.type_other": """
        kinds: NoneConst NoneTypeT none_type_t as_int_none_variable SliceType slicetype SliceConstant
        !inner_op: MakeSlice make_slice
    """,
    "tensor.sharedvar": """
        T: TensorSharedVariable ScalarSharedVariable=TensorSharedVariable
        shared: SharedVariable tensor_constructor scalar_constructor=tensor_constructor
        compiling: shared shared_constructor
        language: load_shared_variable
    """,
    "tensor.elemwise": """
        classes: Elemwise DimShuffle CAReduce CAReduceDtype Sum Prod ProdWithoutZeros All Any=Any_
        language: TensorType TensorVariable as_tensor_variable
        T: TensorConstant
        !inner_op: MulWithoutZeros mul_without_zeros
        !compiler: DimShufflePrinter
    """,
    "tensor.subtensor": """
        T: set_subtensor inc_subtensor take
        classes: Subtensor IncSubtensor AdvancedSubtensor AdvancedSubtensor1 AdvancedIncSubtensor
        classes: AdvancedIncSubtensor1 AdvancedBooleanSubtensor AdvancedBooleanIncSubtensor BaseAdvancedSubtensor
        classes: BaseAdvancedIncSubtensor
        indices: get_idx_list get_canonical_form_slice advanced_subtensor1 advanced_inc_subtensor1
        indices: advanced_set_subtensor1 advanced_subtensor advanced_inc_subtensor advanced_set_subtensor
        indices: advanced_boolean_subtensor advanced_boolean_inc_subtensor advanced_boolean_set_subtensor
        indices: as_index_variable make_constant AdvancedIndexingError AdvancedBooleanIndexingError
        !inner_op: adv_index_broadcastable_pattern check_advanced_indexing_dimensions check_and_reject_bool
        !compiler: SubtensorPrinter
    """,
    "tensor.extra_ops": """
        extra: bincount unravel_index ravel_multi_index
        T: cumsum cumprod diff squeeze repeat fill_diagonal to_one_hot
        arguments: searchsorted compress
        language: bartlett fill_diagonal_offset cpu_contiguous bartlett_=bartlett
        language: fill_diagonal_offset_=fill_diagonal_offset
        T: fill_diagonal_=fill_diagonal
        classes: CpuContiguous SearchsortedOp CumOp CumsumOp CumprodOp DiffOp RepeatOp Bartlett FillDiagonal
        classes: FillDiagonalOffset Unique UnravelIndex RavelMultiIndex
    """,
    "tensor.sort": """
        T: argtopk topk_and_argtopk
        arguments: sort argsort topk
        classes: SortOp ArgSortOp TopKOp
    """,
    "tensor.inplace": f"""
        T: {_OVERWRITING}
        language: inv_inplace=inv second_inplace=second fill_inplace=fill
        T: tri_gamma_inplace=tri_gamma chi2sf_inplace=chi2sf
        language: round_half_away_from_zero_inplace=round_half_away_from_zero
        T: transpose_inplace=transpose j0_inplace=j0 j1_inplace=j1 jv_inplace=jv i0_inplace=i0 i1_inplace=i1
        T: iv_inplace=iv
    """,
    "tensor.blas": """
        products: gemm gemm_inplace gemm_no_inplace gemv gemv_inplace gemv_no_inplace ger ger_destructive
        products: _dot22 _dot22scalar ldflags
        T: batched_dot
        classes: Gemm Gemv Ger Dot22 GemmRelated Dot22Scalar BatchedDot
        !rewriting: GemmOptimizer local_dot_to_dot22 local_gemm_to_gemv local_gemm_to_ger local_inplace_gemm
        !rewriting: local_inplace_gemv local_inplace_ger local_dot22_to_ger_or_gemv blas_optdb blas_opt_inplace
        !rewriting: local_dot22_to_dot22scalar check_init_y res_is_a
    """,
    "tensor.nlinalg": """
        linalg: pinv matrix_inverse det eig tensorinv
        linear: eigh matrix_dot alloc_diag extract_diag=diag diag trace qr svd lstsq matrix_power norm tensorsolve
        classes: MatrixPinv MatrixInverse Det Eig Eigh EighGrad QRFull QRIncomplete SVD TensorInv TensorSolve AllocDiag
    """,
    "tensor.slinalg": """
        linear: solve solve_lower_triangular solve_upper_triangular solve_symmetric cholesky eigvalsh kron
        linear: MATRIX_STRUCTURES
        linalg: expm
        classes: Cholesky CholeskyGrad Solve Eigvalsh EigvalshGrad Expm ExpmGrad
    """,
    "tensor.fft": """
        fourier: rfft irfft rfft_op irfft_op
        classes: RFFTOp IRFFTOp
    """,
    "tensor.fourier": "fourier: fft Fourier",
    "tensor.io": """
        loading: load=_load_array LoadFromDisk
        !mpi: MPIRecv MPIRecvWait MPISend MPISendWait isend send irecv recv mpi_send_wait_key mpi_tag_key
        !mpi: mpi_send_wait_cmp mpi_tag_cmp mpi_keys mpi_cmps
    """,
    "tensor.utils": """
        loading: hash_from_ndarray
        language: shape_of_variables
    """,
    "tensor.xlogx": """
        language: xlogx xlogy0 scalar_xlogx=xlogx scalar_xlogy0=xlogy0
        !inner_op: XlogX XlogY0
    """,
    "tensor.opt": """
        classes: Assert MakeVector
        T: assert_op assert_=assert_op
        rewriting: register_canonicalize=register_rewriting register_stabilize=register_rewriting
        rewriting: register_specialize=register_rewriting register_useless=register_rewriting
        rewriting: register_uncanonicalize=register_rewriting register_specialize_device=register_rewriting
        !rewriting: ShapeFeature ShapeOptimizer Canonizer local_elemwise_fusion FusionOptimizer *
    """,
    "tensor.opt_uncanonicalize": "!rewriting: *",
    "tensor.raw_random": """
        streams: RandomStateType random_state_type uniform normal binomial random_integers choice poisson permutation
        streams: multinomial RandomStreamsBase
        !random_op: RandomFunction random_make_inplace permutation_helper multinomial_helper random_integers_helper
        !random_op: choice_helper
    """,
    "tensor.shared_randomstreams": """
        streams: RandomStreams RandomStateSharedVariable RandomVariable
        !random_op: randomstate_constructor
    """,
    "tensor.nnet": f"""
        {_NNET}
        {_CONV}
        nnet: batch_normalization
        classes: ConvOp
        as: tensor.nnet.opt
    """,
    "tensor.nnet.nnet": _NNET,
    "tensor.nnet.sigm": """
        nnet: sigmoid softplus ultra_fast_sigmoid hard_sigmoid
        nnet: sigmoid_inplace=sigmoid scalar_sigmoid=sigmoid scalar_softplus=softplus
        nnet: ultra_fast_sigmoid_inplace=ultra_fast_sigmoid ultra_fast_scalar_sigmoid=ultra_fast_sigmoid
        classes: ScalarSigmoid ScalarSoftplus UltraFastScalarSigmoid
        !rewriting: *
    """,
    "tensor.nnet.abstract_conv": _CONV,
    "tensor.nnet.conv": """
        layers: conv2d=old_conv2d
        classes: ConvOp
        !compiler: gen_conv_code_unroll_batch_kern
    """,
    "tensor.nnet.conv3d2d": """
        layers: conv3d=conv3d2d
        !inner_op: DiagonalSubtensor diagonal_subtensor IncDiagonalSubtensor inc_diagonal_subtensor
        !inner_op: get_diagonal_subtensor_view
        !rewriting: local_inplace_DiagonalSubtensor
    """,
    "tensor.nnet.corr": "classes: BaseCorrMM CorrMM CorrMM_gradWeights CorrMM_gradInputs",
    "tensor.nnet.corr3d": "classes: BaseCorr3dMM Corr3dMM Corr3dMM_gradWeights Corr3dMM_gradInputs",
    "tensor.nnet.bn": """
        nnet: batch_normalization batch_normalization_train batch_normalization_test
        classes: AbstractBatchNormTrain AbstractBatchNormInference AbstractBatchNormTrainGrad BNComposite
        !rewriting: local_abstract_batch_norm_train local_abstract_batch_norm_train_grad
        !rewriting: local_abstract_batch_norm_inference bn_groupopt
    """,
    "tensor.nnet.neighbours": """
        layers: images2neibs neibs2images
        classes: Images2Neibs
    """,
    "tensor.nnet.blocksparse": """
        layers: sparse_block_dot
        !inner_op: SparseBlockGemv SparseBlockOuter sparse_block_gemv sparse_block_outer sparse_block_gemv_inplace
        !inner_op: sparse_block_outer_inplace
    """,
    "tensor.nnet.ctc": """
        layers: ctc ctc_available ctc_present=ctc_available
        !ctc: ConnectionistTemporalClassification
        !rewriting: local_ctc_no_grad
    """,
    "tensor.nnet.opt": "!rewriting: *",
    "tensor.signal": "",
    "tensor.signal.pool": """
        layers: pool_2d pool_3d max_pool_2d_same_size
        classes: Pool PoolGrad MaxPoolGrad AveragePoolGrad DownsampleFactorMaxGradGrad MaxPoolRop
        !compiler: PoolingMode_t
    """,
    "tensor.signal.downsample": """
        layers: max_pool_2d max_pool_2d_same_size
        classes: DownsampleFactorMax=Pool
    """,
    "tensor.signal.conv": "layers: conv2d=signal_conv2d",
    # ------------------------------------------------------------------ numbers, sparse matrices, lists
    "scalar": "as: scalar.basic scalar.basic_scipy",
    "scalar.basic": f"""
        ew: add mul sub true_div floor_div int_div=floor_div mod pow=pow_ clip exp exp2 expm1 log log2 log10 log1p sqr
        ew: sqrt deg2rad rad2deg cos arccos sin arcsin tan arctan arctan2 cosh arccosh sinh arcsinh tanh arctanh real
        ew: imag complex=complex_ conj abs_ sgn=sign ceil floor trunc round_half_to_even=round_ neg lt gt le ge eq neq
        ew: isnan isinf switch maximum minimum invert or_=bitwise_or xor=bitwise_xor and_=bitwise_and
        T: angle cast
        language: inv complex_from_polar round_half_away_from_zero div_proxy mod_check
        language: int_or_true_div=div_proxy
        classes: {_SCALAR_CLASSES}
        classes: ComplexFromPolar
        numbers: ComplexError IntegerDivisionError Scalar ScalarVariable ScalarConstant bool=bool_ int8 int16 int32
        numbers: int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 int_types uint_types
        numbers: float_types complex_types integer_types discrete_types continuous_types all_types get_scalar_type
        numbers: ints floats complexs complexs64 complexs128 as_scalar constant convert upcast as_common_dtype
        numbers: upcast_out upcast_out_no_complex upcast_out_nobool upcast_out_min8 upgrade_to_float upgrade_to_float64
        numbers: upgrade_to_float_no_complex same_out same_out_nobool same_out_min8 same_out_float_only
        numbers: same_out_nocomplex int_out float_out int_out_nocomplex float_out_nocomplex real_out transfer_type
        numbers: specific_out unary_out_lookup ScalarOp UnaryScalarOp BinaryScalarOp LogicalComparison
        numbers: FixedLogicalComparison UnaryBitOp BinaryBitOp Composite identity second inopenrange inclosedrange
        numbers: convert_to_bool convert_to_int8 convert_to_int16 convert_to_int32 convert_to_int64 convert_to_uint8
        numbers: convert_to_uint16 convert_to_uint32 convert_to_uint64 convert_to_float16 convert_to_float32
        numbers: convert_to_float64 convert_to_complex64 convert_to_complex128
        language: NumpyAutocaster
        !compiler: autocast_int autocast_float autocast_float_as Compositef32 composite_f32 handle_cast handle_composite
        !compiler: round_half_away_from_zero_ round_half_away_from_zero_vec InRange
    """,
    "scalar.basic_scipy": """
        ew: erf erfc erfcx erfinv erfcinv gamma gammaln psi=digamma
        T: j0 j1 jv i0 i1 iv gammainc gammaincc
        T: tri_gamma chi2sf gammau gammal
        classes: Erf Erfc Erfcx Erfinv Erfcinv Gamma GammaLn Psi TriGamma Chi2SF GammaInc GammaIncC J0 J1 Jv I0 I1 Iv
        classes: GammaU GammaL
    """,
    "scalar.basic_sympy": "!compiler: SymPyCCode include_line sympy_dtype theano_dtype",
    "sparse": """
        as: sparse.basic sparse.type
        sparsely: enable_sparse
    """,
    "sparse.type": """
        sp: SparseType
        sp: _is_sparse=is_sparse
    """,
    "sparse.basic": """
        sp: as_sparse_variable as_sparse as_sparse_or_tensor_variable constant SparseVariable SparseConstant matrix
        sp: csc_matrix csr_matrix csm_properties csm_data csm_indices csm_indptr csm_shape CSC CSR cast
        sp: dense_from_sparse csr_from_dense csc_from_dense transpose neg col_scale row_scale sp_sum diag
        sp: square_diagonal ensure_sorted_indices clean add sub mul hstack vstack remove0 true_dot
        sp: structured_dot sampling_dot dot sp_ones_like sp_zeros_like SparseType
        sparsely: *
        !bsr: bsr_matrix bsr_dmatrix bsr_fmatrix
        !inner_op: CSMGrad csm_grad GetItemListGrad get_item_list_grad GetItem2ListsGrad get_item_2lists_grad
        !inner_op: StructuredDotGradCSC sdg_csc StructuredDotGradCSR sdg_csr structured_dot_grad AddSSData
        !inner_op: add_s_s_data SparseConstantSignature structured_monoid
    """,
    "sparse.sandbox": "",
    "sparse.sandbox.sp": "!inner_op: ConvolutionIndices convolution_indices convolve max_pool",
    "sparse.sandbox.sp2": "!sampler: Poisson poisson Binomial csr_fbinomial csc_fbinomial Multinomial multinomial",
    "sparse.utils": "loading: hash_from_sparse",
    "typed_list": "as: typed_list.basic typed_list.type",
    "typed_list.type": "lists: TypedListType",
    "typed_list.basic": """
        lists: TypedListType TypedListVariable TypedListConstant GetItem getitem Append append Extend extend Insert
        lists: insert Remove remove Reverse reverse Index index_ Count count Length length MakeList make_list
    """,
}
