package deploy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/atlasmart/ordertally/internal/emulator/emulatortest"
)

// requestTimeout bounds one request to the emulator's own interface.
const requestTimeout = 30 * time.Second

// setRules puts rules into force in the test's project.
func setRules(t *testing.T, env *emulatortest.Env, file string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type rulesFile struct {
		Name    string `json:"name"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(map[string]any{"rules": map[string]any{
		"files": []rulesFile{{Name: file, Content: string(source)}}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	url := fmt.Sprintf("http://%s/emulator/v1/projects/%s:securityRules",
		env.FirestoreAddr(), env.Project)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true} // leaves no goroutine
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("setting %s: %s: %s (%v)", file, res.Status, answer, err)
	}
}

// bearer is the token of a request; the empty one sends none.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if b == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (b bearer) RequireTransportSecurity() bool { return false }

// signedIn is the token of an account: unsigned, as Firebase's rules-unit-testing library makes
// them for the emulator.
func signedIn(t *testing.T, project, user string) bearer {
	t.Helper()
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	now := time.Now().Unix()
	return bearer(part(map[string]any{"alg": "none", "type": "JWT"}) + "." +
		part(map[string]any{
			"iss": "https://securetoken.google.com/" + project, "aud": project,
			"iat": now, "exp": now + 3600, "auth_time": now, "sub": user, "user_id": user,
			"firebase": map[string]any{"sign_in_provider": "custom", "identities": map[string]any{}},
		}) + ".")
}

// dial returns a client that is who the token says.
func dial(t *testing.T, env *emulatortest.Env, token bearer) *firestore.Client {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+env.FirestoreAddr(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithPerRPCCredentials(token))
	if err != nil {
		t.Fatal(err)
	}
	client, err := firestore.NewClient(t.Context(), env.Project, option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}
