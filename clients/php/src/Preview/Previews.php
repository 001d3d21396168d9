<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Preview;

use Sandlot\Http\Access;
use Sandlot\Http\Api;
use Sandlot\Model\CreateSession;
use Sandlot\Model\ExposePort;
use Sandlot\Model\Operation;
use Sandlot\Model\Port;
use Sandlot\Model\Protocol;
use Sandlot\Model\Session;

/** Addresses of the servers in one sandbox. */
final class Previews
{
    /** @internal */
    public function __construct(
        private readonly Api $api,
        private readonly string $sandboxId,
    ) {
    }

    public function get(int $port): Preview
    {
        return $this->preview(Port::read($this->api->call(Operation::ShowPort, $this->path($port))));
    }

    /** @return list<Preview> */
    public function list(): array
    {
        $ports = $this->api->call(Operation::ListPorts, ['id' => $this->sandboxId])->objects('ports', Port::read(...));
        return array_map($this->preview(...), $ports);
    }

    /** @param bool $public true: open to everybody; false: only with a token */
    public function expose(int $port, bool $public = false): Preview
    {
        $wish = new ExposePort(protocol: Protocol::Http, public: $public);
        return $this->preview(Port::read($this->api->call(Operation::ExposePort, $this->path($port), body: $wish)));
    }

    public function withdraw(int $port): void
    {
        $this->api->call(Operation::WithdrawPort, $this->path($port));
    }

    /** @return array<string, string|int> */
    private function path(int $port): array
    {
        return ['id' => $this->sandboxId, 'port' => $port];
    }

    private function preview(Port $port): Preview
    {
        return new Preview($port, $this, new Access(fn (): Session => $this->session($port->port), null));
    }

    /** Its token opens this port only. */
    private function session(int $port): Session
    {
        return $this->api
            ->call(Operation::CreateSession, ['id' => $this->sandboxId], body: new CreateSession(port: $port))
            ->object('session', Session::read(...));
    }
}
