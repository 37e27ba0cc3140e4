package address

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseAcceptsLabAndLoopback(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"198.18.0.0:1", "198.18.0.3:80", "198.19.255.255:65535",
		"127.0.0.1:8080", "127.255.255.254:80", "[::1]:80",
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, text, got.String())
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"just below the range":   "198.17.255.255:80",
		"just above the range":   "198.20.0.0:80",
		"private 10":             "10.0.0.1:80",
		"private 192.168":        "192.168.1.1:80",
		"private 172.16":         "172.16.0.1:80",
		"shared address space":   "100.64.0.1:80",
		"link local":             "169.254.169.254:80",
		"public":                 "93.184.216.34:80",
		"multicast":              "224.0.0.1:80",
		"broadcast":              "255.255.255.255:80",
		"unspecified":            "0.0.0.0:80",
		"below loopback":         "126.255.255.255:80",
		"above loopback":         "128.0.0.1:80",
		"mapped lab address":     "[::ffff:198.18.0.3]:80",
		"mapped loopback":        "[::ffff:127.0.0.1]:80",
		"mapped public":          "[::ffff:8.8.8.8]:80",
		"mapped in hex":          "[::ffff:c612:3]:80",
		"compatible":             "[::198.18.0.3]:80",
		"6to4 of a lab address":  "[2002:c612:3::]:80",
		"NAT64 of a lab address": "[64:ff9b::c612:3]:80",
		"loopback with zone":     "[::1%eth0]:80",
		"link local with zone":   "[fe80::1%eth0]:80",
		"IPv6 unspecified":       "[::]:80",
		"IPv6 unique local":      "[fd00::1]:80",
		"IPv6 benchmarking":      "[2001:2::1]:80",
		"IPv6 global":            "[2606:2800:220:1::1]:80",
		"IPv6 without brackets":  "::1:80",
		"localhost":              "localhost:80",
		"name":                   "example.com:80",
		"name of an address":     "198.18.0.3.nip.io:80",
		"unix socket":            "/run/haproxy.sock",
		"leading zero":           "198.018.0.3:80",
		"decimal":                "3323068419:80",
		"hexadecimal":            "0xc6120003:80",
		"short form":             "127.1:80",
		"no port":                "198.18.0.3",
		"empty port":             "198.18.0.3:",
		"port 0":                 "198.18.0.3:0",
		"port too large":         "198.18.0.3:65536",
		"named port":             "198.18.0.3:http",
		"prefix":                 "198.18.0.0/15:80",
		"URL":                    "http://198.18.0.3:80",
		"user part":              "198.18.0.3:80@8.8.8.8:80",
		"surrounding space":      " 198.18.0.3:80",
		"new line":               "198.18.0.3:80\n",
		"empty":                  "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(text)
			require.Error(t, err)
			assert.Equal(t, Address{}, got)
		})
	}
}

func TestDialRefusesAddressesNotMadeByParse(t *testing.T) {
	t.Parallel()
	_, err := Dial(t.Context(), Address{})
	require.ErrorContains(t, err, "not made by address.Parse")
	// Even code of this package that skips Parse is stopped.
	_, err = Dial(t.Context(), Address{addr: netip.MustParseAddrPort("192.0.2.1:80")})
	require.ErrorContains(t, err, "not made by address.Parse")
}

func TestDialReachesLoopback(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	to, err := Parse(listener.Addr().String())
	require.NoError(t, err)
	conn, err := Dial(t.Context(), to)
	require.NoError(t, err)
	assert.Equal(t, listener.Addr().String(), conn.RemoteAddr().String())
	require.NoError(t, conn.Close())
}

// TestOnlyThisPackageDials keeps the guard the only way out: it reads the
// sources of loadgen for anything else that can open a connection.
func TestOnlyThisPackageDials(t *testing.T) {
	t.Parallel()
	dials := regexp.MustCompile(`\bDial(TCP|UDP|IP|Unix|Context|er)?\b|unix\.Connect|syscall\.Connect|http\.(Get|Post|Client|Transport)`)
	found := 0
	for _, root := range []string{"..", "../../cmd/loadgen"} {
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for line := range strings.Lines(string(text)) {
				code, _, _ := strings.Cut(line, "//")
				code = strings.ReplaceAll(code, "address.Dial(", "")
				if !dials.MatchString(code) {
					continue
				}
				found++
				assert.Equal(t, "../address/address.go", path, "opens connections: %s", line)
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.Positive(t, found, "the search must at least find this package's own dialer")
}
