package sluice

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

func platform(t *testing.T) *Client {
	t.Helper()
	if os.Getenv("API") == "" {
		t.Fatal("API, KEY and FROM name a running platform: npm run test:clients")
	}
	return &Client{BaseURL: os.Getenv("API"), APIKey: os.Getenv("KEY")}
}

func TestSendsAnEmailRepeatedUnderOneKey(t *testing.T) {
	body := map[string]any{"from": os.Getenv("FROM"), "to": "bob@example.com", "subject": "Hello", "text": "Hi Bob"}
	var sent struct{ ID, State string }
	if err := platform(t).EmailsCreate(context.Background(), nil, body, &sent); err != nil || sent.State != "queued" {
		t.Fatal(sent, err)
	}
}

func TestReadsAnAreaCode(t *testing.T) {
	var area struct{ Exchanges []struct{ Nxx string } }
	err := platform(t).DirectoryGetAreaCode(context.Background(), "212", Query{"limit": "1"}, &area)
	if err != nil || len(area.Exchanges) != 1 {
		t.Fatal(area, err)
	}
}

func TestReturnsAnErrorWithAType(t *testing.T) {
	err := platform(t).DirectoryGetCarrier(context.Background(), "ZZZ9", nil, nil)
	var told *Error
	if !errors.Is(err, ErrNotFound) || !errors.As(err, &told) || told.Code != "not_found" || told.RequestID == "" {
		t.Fatal(err)
	}
}

func TestGoesThroughEveryPageOfAList(t *testing.T) {
	c, ctx := platform(t), context.Background()
	for _, tn := range []string{"2125550106", "2125550107", "2125550108"} {
		if err := c.TelcoLookup(ctx, tn, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for tries := 0; tries < 50; tries++ {
		found := map[string]bool{}
		items := EveryItem(Query{"type": "telco.*", "limit": "1"}, func(query Query, into any) error {
			return c.EventsList(ctx, query, into)
		})
		for items.Next() {
			var event Event
			if err := items.Scan(&event); err != nil {
				t.Fatal(err)
			}
			found[event.EventID] = true
		}
		if err := items.Err(); err != nil {
			t.Fatal(err)
		}
		if len(found) >= 3 {
			return
		}
	}
	t.Fatal("too few events")
}

func TestWaitsNoLongerThanItMay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(429)
	}))
	defer server.Close()
	err := (&Client{BaseURL: server.URL}).SystemLivez(context.Background(), nil, nil)
	var told *Error
	if !errors.Is(err, ErrLimitReached) || !errors.As(err, &told) || told.RetryAfter != time.Hour {
		t.Fatal(err)
	}
}

func TestVerifiesEveryVector(t *testing.T) {
	text, err := os.ReadFile("../vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Body string
		Secrets    []string
		Now        int64
		Headers    map[string]string
		Valid      bool
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		headers := http.Header{}
		for name, value := range v.Headers {
			headers.Set(name, value)
		}
		event, err := VerifyWebhook(headers, []byte(v.Body), v.Secrets, VerifyOptions{Now: time.Unix(v.Now, 0)})
		if v.Valid && (err != nil || event.EventID != "evt_00040000-0001-8000-8000-0000d0000000") {
			t.Errorf("%s: %v", v.Name, err)
		}
		if !v.Valid && !errors.Is(err, ErrSignatureInvalid) {
			t.Errorf("%s: accepted", v.Name)
		}
	}
}
