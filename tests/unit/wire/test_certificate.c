/* What is said of a certificate that is not taken: whom it is for, when it is good; nothing where
 * it is another's word that is missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/ecp.h>
#include <mbedtls/entropy.h>
#include <mbedtls/oid.h>
#include <mbedtls/pk.h>
#include <mbedtls/x509_crt.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/supplemental/tls/tls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/access.h"
#include "wire/certificate.h"
#include "wire/dial.h"

#define PEM_BYTES 4096u
#define PAST "20010101000000"
#define LONG_AGO "20000101000000"
#define FAR_AWAY "20990101000000"
#define FARTHER "20990201000000"

static char directory[] = "/tmp/hk-certificate-XXXXXX";
static char crt[64], key[64], other[64];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory)) {
		return -1;
	}
	snprintf(crt, sizeof(crt), "%s/crt", directory);
	snprintf(key, sizeof(key), "%s/key", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(crt);
	unlink(key);
	unlink(other);
	return rmdir(directory);
}

#define ALTERNATIVES 3

struct wish {
	const char *name; /* distinguished */
	const char *alternatives[ALTERNATIVES + 1];
	const char *from, *to;
	const unsigned char *address; /* of IPv4, among the alternatives; NULL: none */
	const struct wish *signer;    /* NULL: itself */
};

static void put(const char *path, const unsigned char *text)
{
	unlink(path);
	FILE *file = fopen(path, "wx");
	assert_non_null(file);
	assert_int_equal(fchmod(fileno(file), 0600), 0);
	assert_true(fputs((const char *)text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* The names of WISH, as a subjectAltName: an ASN.1 sequence, with lengths of two bytes and of one.
 */
static void set_alternatives(mbedtls_x509write_cert *certificate, const struct wish *wish)
{
	const char *const *names = wish->alternatives;
	unsigned char extension[700] = {MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE, 0x82};
	size_t end = 4;
	for (; *names; names++) {
		size_t size = strlen(*names);
		assert_true(size < 256 && end + 3 + size <= sizeof(extension));
		extension[end++] = MBEDTLS_ASN1_CONTEXT_SPECIFIC | MBEDTLS_X509_SAN_DNS_NAME;
		extension[end++] = 0x81;
		extension[end++] = (unsigned char)size;
		memcpy(extension + end, *names, size);
		end += size;
	}
	if (wish->address) {
		extension[end++] = MBEDTLS_ASN1_CONTEXT_SPECIFIC | MBEDTLS_X509_SAN_IP_ADDRESS;
		extension[end++] = 4;
		memcpy(extension + end, wish->address, 4);
		end += 4;
	}
	extension[2] = (unsigned char)((end - 4) >> 8);
	extension[3] = (unsigned char)(end - 4);
	assert_int_equal(mbedtls_x509write_crt_set_extension(
			     certificate, MBEDTLS_OID_SUBJECT_ALT_NAME,
			     MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME), 0, extension, end),
			 0);
}

static void make_pair(mbedtls_pk_context *pair, mbedtls_ctr_drbg_context *random)
{
	mbedtls_pk_init(pair);
	mbedtls_pk_setup(pair, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
	mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*pair), mbedtls_ctr_drbg_random,
			    random);
}

/* That of PAIR, signed by SIGNER's as WISH says, written to TO. */
static void sign(const struct wish *wish, mbedtls_pk_context *pair, mbedtls_pk_context *signer,
		 mbedtls_ctr_drbg_context *random, const char *to)
{
	unsigned char text[PEM_BYTES];
	mbedtls_x509write_cert certificate;
	mbedtls_mpi serial;
	mbedtls_mpi_init(&serial);
	mbedtls_x509write_crt_init(&certificate);
	mbedtls_x509write_crt_set_version(&certificate, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(&certificate, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(&certificate, pair);
	mbedtls_x509write_crt_set_issuer_key(&certificate, signer);
	mbedtls_mpi_lset(&serial, 1);
	mbedtls_x509write_crt_set_serial(&certificate, &serial);
	mbedtls_x509write_crt_set_subject_name(&certificate, wish->name);
	mbedtls_x509write_crt_set_issuer_name(&certificate,
					      wish->signer ? wish->signer->name : wish->name);
	mbedtls_x509write_crt_set_validity(&certificate, wish->from, wish->to);
	mbedtls_x509write_crt_set_basic_constraints(&certificate, !wish->signer, -1);
	if (wish->alternatives[0] || wish->address) {
		set_alternatives(&certificate, wish);
	}
	assert_int_equal(mbedtls_x509write_crt_pem(&certificate, text, sizeof(text),
						   mbedtls_ctr_drbg_random, random),
			 0);
	put(to, text);
	mbedtls_mpi_free(&serial);
	mbedtls_x509write_crt_free(&certificate);
}

/* WISH's, written to TO with its key beside; its signer's, where that is another, to `other`. */
static void make(const struct wish *wish, const char *to)
{
	unsigned char text[PEM_BYTES];
	mbedtls_entropy_context entropy;
	mbedtls_ctr_drbg_context random;
	mbedtls_pk_context pair, signer;
	mbedtls_entropy_init(&entropy);
	mbedtls_ctr_drbg_init(&random);
	mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, &entropy, NULL, 0);
	make_pair(&pair, &random);
	make_pair(&signer, &random);
	if (wish->signer) {
		sign(wish->signer, &signer, &signer, &random, other);
	}
	sign(wish, &pair, wish->signer ? &signer : &pair, &random, to);
	assert_int_equal(mbedtls_pk_write_key_pem(&pair, text, sizeof(text)), 0);
	put(key, text);
	mbedtls_pk_free(&signer);
	mbedtls_pk_free(&pair);
	mbedtls_ctr_drbg_free(&random);
	mbedtls_entropy_free(&entropy);
}

/* Shows CERTIFICATE to every client, prints its port on stdout, and ends with stdin: a process of
 * its own, because NNG does not free what was in mid-handshake when it is closed. */
static int listen_anywhere(const char *certificate, const char *its_key)
{
	const struct hk_access access = {.certificate = certificate, .key = its_key};
	char problem[HK_ACCESS_PROBLEM_BYTES], byte;
	nng_tls_config *tls;
	nng_socket socket;
	nng_listener listener;
	int port;
	if (hk_dial_tls(&access, NULL, &tls, problem) != 0 || nng_rep0_open(&socket) != 0 ||
	    nng_listener_create(&listener, socket, "tls+tcp://127.0.0.1:0") != 0 ||
	    nng_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, tls) != 0 ||
	    nng_listener_start(listener, 0) != 0 ||
	    nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port) != 0) {
		return 1;
	}
	return write(1, &port, sizeof(port)) != sizeof(port) || read(0, &byte, 1) != 0;
}

struct listener {
	pid_t pid;
	int end; /* closed: it ends */
};

static void listener_start(struct listener *listener, char url[64])
{
	int in[2], out[2], port;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	listener->pid = fork();
	assert_true(listener->pid >= 0);
	if (listener->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/proc/self/exe", "test_certificate", crt, key, (char *)NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	assert_int_equal(read(out[0], &port, sizeof(port)), sizeof(port));
	close(out[0]);
	listener->end = in[1];
	snprintf(url, 64, "tls+tcp://127.0.0.1:%d", port);
}

static void listener_end(const struct listener *listener)
{
	int status;
	close(listener->end);
	assert_int_equal(waitpid(listener->pid, &status, 0), listener->pid);
	assert_int_equal(status, 0);
}

/* The problem with WISH's certificate for a client that trusts AUTHORITIES. */
static void told(const struct wish *wish, const char *authorities,
		 char problem[HK_ACCESS_PROBLEM_BYTES])
{
	char url[64];
	make(wish, crt);
	const struct hk_access access = {.authorities = authorities};
	struct listener listener;
	listener_start(&listener, url);
	hk_certificate_problem(url, &access, problem);
	listener_end(&listener);
}

static void expect_words(const char *problem, const char *words)
{
	if (!strstr(problem, words)) {
		fail_msg("'%s' is not in '%s'", words, problem);
	}
	assert_null(strchr(problem, '\n'));
}

static void test_one_for_another_host_is_told_from_one_of_a_stranger(void **state)
{
	char problem[HK_ACCESS_PROBLEM_BYTES];
	static const struct wish wish = {
	    "CN=head.example", {"HEAD-2.example\n\033[2J"}, .from = LONG_AGO, .to = FAR_AWAY};
	(void)state;
	told(&wish, crt, problem);
	expect_words(problem,
		     "is for head.example, HEAD-2.example???2J, not for the name 127.0.0.1: ");
	expect_words(problem, "hookcollector keygen DIR");
	make(&wish, other);
	told(&wish, other, problem);
	assert_string_equal(problem, "");
}

static void test_days_are_told(void **state)
{
	char problem[HK_ACCESS_PROBLEM_BYTES];
	static const struct wish past = {
	    "CN=" HK_ACCESS_NAME, {NULL}, .from = LONG_AGO, .to = PAST};
	static const struct wish future = {
	    "CN=" HK_ACCESS_NAME, {NULL}, .from = FAR_AWAY, .to = FARTHER};
	(void)state;
	told(&past, crt, problem);
	expect_words(problem, "certificate there was good until 2001-01-01");
	told(&future, crt, problem);
	expect_words(problem, "certificate there is good from 2099-01-01");
}

static void test_days_are_those_of_the_one_that_is_over(void **state)
{
	char problem[HK_ACCESS_PROBLEM_BYTES];
	static const struct wish past = {"CN=authority", {NULL}, .from = LONG_AGO, .to = PAST};
	static const struct wish future = {"CN=authority", {NULL}, .from = FAR_AWAY, .to = FARTHER};
	struct wish wish = {
	    "CN=head.example", {NULL}, .from = LONG_AGO, .to = FAR_AWAY, .signer = &past};
	(void)state;
	told(&wish, other, problem);
	expect_words(problem, "certificate of the signer there was good until 2001-01-01");
	wish.signer = &future;
	told(&wish, other, problem);
	expect_words(problem, "certificate of the signer there is good from 2099-01-01");
}

/* mbedTLS compares names of hosts only. */
static void test_one_for_this_very_address_is_not_said_to_be_for_another(void **state)
{
	char problem[HK_ACCESS_PROBLEM_BYTES];
	static const unsigned char here[4] = {127, 0, 0, 1}, there[4] = {127, 0, 0, 2};
	struct wish wish = {
	    "CN=head.example", {"head.example"}, .from = LONG_AGO, .to = FAR_AWAY, .address = here};
	(void)state;
	told(&wish, crt, problem);
	expect_words(problem,
		     "is for head.example, 127.0.0.1, but TLS here compares names of hosts "
		     "only, not addresses such as 127.0.0.1: ");
	wish.address = there;
	told(&wish, crt, problem);
	expect_words(problem, "is for head.example, 127.0.0.2, not for the name 127.0.0.1: ");
}

static void test_nothing_is_said_of_one_that_is_right_or_not_there(void **state)
{
	char problem[HK_ACCESS_PROBLEM_BYTES], url[64];
	static const struct wish wish = {
	    "CN=" HK_ACCESS_NAME, {NULL}, .from = LONG_AGO, .to = FAR_AWAY};
	const struct hk_access access = {.authorities = crt};
	(void)state;
	told(&wish, crt, problem);
	assert_string_equal(problem, "");
	struct listener listener;
	listener_start(&listener, url);
	listener_end(&listener);
	hk_certificate_problem(url, &access, problem);
	assert_string_equal(problem, "");
	hk_certificate_problem("nonsense", &access, problem);
	assert_string_equal(problem, "");
	hk_certificate_problem(url, NULL, problem);
	assert_string_equal(problem, "");
}

/* What is shown of the names has room for two of these at most, however they fill it. */
static void test_names_that_fill_the_room_are_all_that_is_shown(void **state)
{
	char problem[HK_ACCESS_PROBLEM_BYTES], second[64], letters[201] = "";
	struct wish wish = {
	    "CN=head.example", {"", second, letters}, .from = LONG_AGO, .to = FAR_AWAY};
	(void)state;
	memset(letters, 'x', sizeof(letters) - 1);
	wish.alternatives[0] = letters + 150; /* 50 of them */
	/* With "head.example" and what is between them 29 bytes are 95, all but the last. */
	for (size_t size = 26; size <= 31; size++) {
		memset(second, 'y', size);
		second[size] = '\0';
		told(&wish, crt, problem);
		expect_words(problem, "not for the name 127.0.0.1");
		const char *names = strstr(problem, " is for ") + strlen(" is for ");
		assert_true(strstr(names, ", not for ") - names < 96);
	}
}

/* The peer never answers on that connection: the time is bounded. */
static void test_who_says_nothing_is_not_waited_for_long(void **state)
{
	char problem[HK_ACCESS_PROBLEM_BYTES], url[64];
	const struct hk_access access = {.authorities = crt};
	nng_stream_listener *listener;
	int port;
	(void)state;
	assert_int_equal(nng_stream_listener_alloc(&listener, "tcp://127.0.0.1:0"), 0);
	assert_int_equal(nng_stream_listener_listen(listener), 0);
	assert_int_equal(nng_stream_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &port), 0);
	snprintf(url, sizeof(url), "tls+tcp4://127.0.0.1:%d", port);
	hk_certificate_problem(url, &access, problem);
	assert_string_equal(problem, "");
	nng_stream_listener_free(listener);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		_exit(listen_anywhere(argv[1], argv[2]));
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_for_another_host_is_told_from_one_of_a_stranger),
	    cmocka_unit_test(test_days_are_told),
	    cmocka_unit_test(test_days_are_those_of_the_one_that_is_over),
	    cmocka_unit_test(test_one_for_this_very_address_is_not_said_to_be_for_another),
	    cmocka_unit_test(test_nothing_is_said_of_one_that_is_right_or_not_there),
	    cmocka_unit_test(test_names_that_fill_the_room_are_all_that_is_shown),
	    cmocka_unit_test(test_who_says_nothing_is_not_waited_for_long),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
