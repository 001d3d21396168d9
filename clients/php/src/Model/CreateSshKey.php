<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreateSshKey implements \JsonSerializable
{
    /**
     * @param string $publicKey The line of a .pub file: ssh-ed25519, ecdsa-sha2-nistp256, -384, -521, ssh-rsa of
     *   2048 bits and more, sk-ssh-ed25519@openssh.com, sk-ecdsa-sha2-nistp256@openssh.com.
     * @param string|null $name At most 64 characters; the public key's comment when absent.
     * @param list<string>|null $teams
     * @param string|null $password Of a sign-in: the user's password, so that the key does not end with the sign-in.
     */
    public function __construct(
        public readonly string $publicKey,
        public readonly ?string $name = null,
        public readonly ?array $teams = null,
        public readonly ?\DateTimeInterface $expiresAt = null,
        public readonly ?string $password = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'public_key' => $this->publicKey,
            'name' => $this->name,
            'teams' => $this->teams,
            'expires_at' => Members::time($this->expiresAt),
            'password' => $this->password,
        ]);
    }
}
