/* Transforms of FFTW in three precisions by every kind of call: fftw_truth DIRECTORY. */
#include <fftw3.h>

#include "known.h"

enum { SIZE = 64, ROUNDS = 10 };

/* The old Fortran interface has no header. */
void dfftw_plan_dft_1d_(void **plan, int *n, void *in, void *out, int *sign, int *flags);
void dfftw_execute_(void **plan);
void dfftw_destroy_plan_(void **plan);

static void transform_double(void)
{
	int n[] = {8, 8};
	fftw_complex *in = fftw_malloc(sizeof(*in) * SIZE * SIZE);
	fftw_complex *out = fftw_malloc(sizeof(*out) * SIZE * SIZE);
	double *real = fftw_malloc(sizeof(*real) * SIZE * SIZE);

	fftw_plan plan = KNOWN(0, fftw_plan_dft_1d, SIZE, in, out, FFTW_FORWARD, FFTW_MEASURE);
	EXPECT(plan);
	for (int i = 0; i < SIZE * SIZE; i++) {
		in[i][0] = i;
		in[i][1] = -i;
		real[i] = i;
	}
	for (int i = 0; i < ROUNDS; i++) {
		KNOWN(0, fftw_execute, plan);
	}
	EXPECT(out[0][0] == SIZE * (SIZE - 1) / 2.0);
	KNOWN(0, fftw_execute_dft, plan, in, out);
	KNOWN(0, fftw_destroy_plan, plan);

	plan = KNOWN(0, fftw_plan_dft_r2c_2d, 16, 32, real, out, FFTW_ESTIMATE);
	KNOWN(0, fftw_execute_dft_r2c, plan, real, out);
	KNOWN(0, fftw_destroy_plan, plan);
	plan = KNOWN(0, fftw_plan_dft_c2r_3d, 4, 8, 16, out, real, FFTW_ESTIMATE);
	KNOWN(0, fftw_execute_dft_c2r, plan, out, real);
	KNOWN(0, fftw_destroy_plan, plan);
	plan = KNOWN(0, fftw_plan_many_dft, 2, n, 3, in, NULL, 1, 64, out, NULL, 1, 64,
		     FFTW_BACKWARD, FFTW_ESTIMATE);
	KNOWN(0, fftw_execute, plan);
	KNOWN(0, fftw_destroy_plan, plan);
	plan = KNOWN(0, fftw_plan_r2r_1d, SIZE, real, real, FFTW_REDFT10, FFTW_ESTIMATE);
	KNOWN(0, fftw_execute_r2r, plan, real, real);
	KNOWN(0, fftw_destroy_plan, plan);
	EXPECT(!KNOWN_FAILURE(fftw_plan_dft_1d, 0, in, out, FFTW_FORWARD, FFTW_ESTIMATE));

	char *wisdom = KNOWN(0, fftw_export_wisdom_to_string);
	KNOWN(0, fftw_forget_wisdom);
	EXPECT(KNOWN(0, fftw_import_wisdom_from_string, wisdom) == 1);
	free(wisdom);
	fftw_free(in);
	fftw_free(out);
	fftw_free(real);
}

static void transform_by_fortran(void)
{
	static fftw_complex data[SIZE];
	int n = SIZE, sign = FFTW_FORWARD, flags = FFTW_ESTIMATE;
	void *plan = NULL;

	KNOWN(0, dfftw_plan_dft_1d_, &plan, &n, data, data, &sign, &flags);
	EXPECT(plan);
	KNOWN(0, dfftw_execute_, &plan);
	KNOWN(0, dfftw_destroy_plan_, &plan);
}

static void transform_float(void)
{
	static fftwf_complex data[SIZE];
	fftwf_plan plan =
	    KNOWN(0, fftwf_plan_dft_2d, 8, 8, data, data, FFTW_FORWARD, FFTW_ESTIMATE);

	for (int i = 0; i < ROUNDS; i++) {
		KNOWN(0, fftwf_execute, plan);
	}
	KNOWN(0, fftwf_destroy_plan, plan);
	KNOWN(0, fftwf_cleanup);
}

static void transform_long_double(void)
{
	static fftwl_complex data[SIZE];
	fftwl_plan plan =
	    KNOWN(0, fftwl_plan_dft_1d, SIZE, data, data, FFTW_FORWARD, FFTW_ESTIMATE);

	KNOWN(0, fftwl_execute, plan);
	KNOWN(0, fftwl_destroy_plan, plan);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	transform_double();
	transform_by_fortran();
	transform_float();
	transform_long_double();
	KNOWN(0, fftw_cleanup);
	known_write(argv[0], argv[1], 0);
	return 0;
}
