// A kernel that takes a struct of a template, with an empty base, an array and a struct in it.
struct Empty {};

template <class T>
struct Range {
    T low, high;
};

template <class T, int AXES>
struct View : Empty {
    static constexpr int axes = AXES;
    T *data;
    const int sizes[AXES];
    Range<double> range;
    bool whole;
};

template <class T>
__global__ void viewed(T *out, View<T, 3> view) {
    out[threadIdx.x] = view.data[view.sizes[0]] * view.range.high + view.whole;
}
