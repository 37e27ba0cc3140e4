package clusters

import (
	"strings"
	"testing"

	"secondhop/internal/failure"
	"secondhop/internal/units"
)

func TestValidateNamesTheFlag(t *testing.T) {
	t.Parallel()
	if err := DefaultSpec().Validate(); err != nil {
		t.Fatalf("the default is refused: %v", err)
	}
	for _, tc := range []struct {
		name   string
		change func(*Spec)
		want   string
	}{
		{"empty name", func(s *Spec) { s.Name = "" }, "--name"},
		{"name with a slash", func(s *Spec) { s.Name = "a/b" }, "--name"},
		{"long name", func(s *Spec) { s.Name = strings.Repeat("a", 41) }, "--name"},
		{"version", func(s *Spec) { s.Kubernetes = "latest" }, "--kubernetes"},
		{"no workers", func(s *Spec) { s.Workers = 0 }, "--workers 0"},
		{"too many workers", func(s *Spec) { s.Workers = 101 }, "--workers 101"},
		{"no zones", func(s *Spec) { s.Zones = 0 }, "--zones 0"},
		{"more zones than workers", func(s *Spec) { s.Zones = 5 }, "--zones 5"},
		{"proxy mode", func(s *Spec) { s.ProxyMode = "ipvs" }, `--proxy-mode "ipvs"`},
		{"no link", func(s *Spec) { s.Link = 0 }, "--link"},
		{"slow link", func(s *Spec) { s.Link = units.Kilobit }, "--link: link rate 1kbit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec := DefaultSpec()
			tc.change(&spec)
			err := spec.Validate()
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Validate = %v, want %q in it", err, tc.want)
			}
			if code := failure.ExitCode(err); code != 3 {
				t.Errorf("exit code %d, want 3", code)
			}
			if failure.Cure(err) == "" {
				t.Error("there is no cure")
			}
		})
	}
}

func TestHashTellsLabsApart(t *testing.T) {
	t.Parallel()
	base := DefaultSpec()
	for name, change := range map[string]func(*Spec){
		"name":       func(s *Spec) { s.Name = "other" },
		"kubernetes": func(s *Spec) { s.Kubernetes = "1.35.0" },
		"workers":    func(s *Spec) { s.Workers = 8 },
		"zones":      func(s *Spec) { s.Zones = 1 },
		"proxy mode": func(s *Spec) { s.ProxyMode = NFTables },
	} {
		changed := base
		change(&changed)
		if changed.Hash() == base.Hash() {
			t.Errorf("another %s has the same hash", name)
		}
	}
	other := base
	other.Link = 100 * units.Megabit
	if other.Hash() != base.Hash() {
		t.Error("another link rate needs another lab")
	}
}

func TestZonesAreBlocksOfEqualSize(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		workers, zones int
		want           string
	}{
		{4, 2, "a a b b"}, {4, 1, "a a a a"}, {5, 2, "a a a b b"}, {8, 3, "a a a b b b c c"}, {3, 3, "a b c"},
	} {
		var got []string
		for i := range tc.workers {
			got = append(got, strings.TrimPrefix(Spec{Workers: tc.workers, Zones: tc.zones}.zone(i), "zone-"))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%d workers in %d zones: %v, want %s", tc.workers, tc.zones, got, tc.want)
		}
	}
}

func TestNodeNamesAreKinds(t *testing.T) {
	t.Parallel()
	spec := DefaultSpec()
	for index, want := range []string{"secondhop-control-plane", "secondhop-worker", "secondhop-worker2", "secondhop-worker3"} {
		if got := spec.nodeName(index); got != want {
			t.Errorf("node %d is called %s, want %s", index, got, want)
		}
	}
}

func TestDifferencesInWords(t *testing.T) {
	t.Parallel()
	asked := DefaultSpec()
	asked.Workers, asked.ProxyMode = 8, NFTables
	got := strings.Join(DefaultSpec().differences(asked), ", ")
	if want := "workers 4 instead of 8, proxy mode iptables instead of nftables"; got != want {
		t.Errorf("differences = %q, want %q", got, want)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	available, err := parseAvailable("MemTotal:       24683520 kB\nMemAvailable:    4194304 kB\n")
	if err != nil || available != 4*units.Gibibyte {
		t.Fatalf("parseAvailable = %s, %v", available, err)
	}
	// 4 GiB - 1536 MiB = 2560 MiB = 6.4 workers of 400 MiB.
	if err := judgeMemory(6, available); err != nil {
		t.Errorf("6 workers: %v", err)
	}
	err = judgeMemory(7, available)
	if failure.ExitCode(err) != 3 || failure.Cure(err) != "use at most --workers 6" {
		t.Errorf("7 workers: %v, cure %q", err, failure.Cure(err))
	}
	err = judgeMemory(1, units.Gibibyte)
	if failure.ExitCode(err) != 2 || !strings.Contains(failure.Cure(err), "even one worker") {
		t.Errorf("1 worker in 1 GiB: %v, cure %q", err, failure.Cure(err))
	}
	for _, bad := range []string{"", "MemAvailable: x kB\n", "MemFree: 1 kB\n"} {
		if got, err := parseAvailable(bad); err == nil {
			t.Errorf("parseAvailable(%q) = %s, want an error", bad, got)
		}
	}
}
