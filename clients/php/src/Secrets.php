<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Http\Api;
use Sandlot\Model\Operation;
use Sandlot\Model\PutSecret;
use Sandlot\Model\Secret;

/** Values that sandlot adds to requests of sandboxes. No call returns a value. */
final class Secrets
{
    /** @internal */
    public function __construct(private readonly Api $api)
    {
    }

    /** @return list<Secret> */
    public function list(?string $team = null): array
    {
        $answer = $this->api->call(Operation::ListSecrets, query: ['team' => $team]);
        return $answer->objects('secrets', Secret::read(...));
    }

    /**
     * Creates a secret, or changes its value or hosts. null does not change them.
     *
     * @param list<string>|null $hosts hosts that may get the secret
     */
    public function put(
        string $name,
        #[\SensitiveParameter] ?string $value = null,
        ?array $hosts = null,
        ?string $team = null,
    ): Secret {
        $wish = new PutSecret(team: $team, value: $value, hosts: $hosts);
        return Secret::read($this->api->call(Operation::PutSecret, ['name' => $name], body: $wish));
    }

    public function delete(string $name, ?string $team = null): void
    {
        $this->api->call(Operation::DeleteSecret, ['name' => $name], query: ['team' => $team]);
    }
}
