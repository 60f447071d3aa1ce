"""Who may say what: keys, certificates, signers, verifiers, trust schema, content encryption."""
