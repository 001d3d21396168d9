<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot;

use Sandlot\Command\Commands;
use Sandlot\File\Files;
use Sandlot\Http\Access;
use Sandlot\Http\Api;
use Sandlot\Http\DataPlanes;
use Sandlot\Model\Checkpoint;
use Sandlot\Model\CreateCheckpoint;
use Sandlot\Model\CreateSession;
use Sandlot\Model\Fields;
use Sandlot\Model\HoldSandbox;
use Sandlot\Model\Lifetime;
use Sandlot\Model\LifecycleRequest;
use Sandlot\Model\Members;
use Sandlot\Model\Metrics;
use Sandlot\Model\Operation;
use Sandlot\Model\PauseSandbox;
use Sandlot\Model\Purpose;
use Sandlot\Model\ResumeSandbox;
use Sandlot\Model\RollbackSandbox;
use Sandlot\Model\SandboxState;
use Sandlot\Model\Service;
use Sandlot\Model\Session;
use Sandlot\Model\UpdateSandbox;
use Sandlot\Network\Policy;
use Sandlot\Preview\Previews;

/** One sandbox: its life, and what is done in it. */
final class Sandbox
{
    public readonly string $id;
    public readonly Commands $commands;
    public readonly Files $files;
    public readonly Previews $previews;
    public readonly Policy $network;

    private readonly Access $access;

    /** @internal */
    public function __construct(
        private readonly Api $api,
        DataPlanes $planes,
        private Model\Sandbox $info,
        ?Session $session,
    ) {
        $this->id = $info->id;
        $this->access = new Access(fn (): Session => $this->newSession(Lifetime::Session), $session);
        $plane = $planes->of($this->access);
        $this->commands = new Commands($plane);
        $this->files = new Files($plane);
        $this->previews = new Previews($api, $this->id);
        $this->network = new Policy($api, $this->id);
    }

    /** The record, as the service gave it last. */
    public function info(): Model\Sandbox
    {
        return $this->info;
    }

    /** Asks for the record. */
    public function refresh(): self
    {
        return $this->take($this->api->call(Operation::ShowSandbox, $this->path()));
    }

    /** The deadline becomes that many seconds from now, never earlier. A paused one gets the time when it is resumed. */
    public function extend(int $seconds): self
    {
        $state = $this->refresh()->info->state;
        if ($state === SandboxState::Ready || $state === SandboxState::Checkpointing) {
            return $this->resume(timeout: $seconds, extendOnly: true);
        }
        return $seconds > $this->info->timeout ? $this->setTimeout($seconds) : $this;
    }

    /** The deadline becomes that many seconds from now, also when that is earlier. */
    public function setTimeout(int $seconds): self
    {
        return $this->update(timeout: $seconds);
    }

    /**
     * @param array<string, mixed>|null $metadata merged into what is there; null removes a key
     * @param int|null $timeout the deadline becomes that many seconds from now
     * @param string|null $maskRequestHost what servers see as Host; "": their preview's name
     * @param string|null $name another name; "": none
     */
    public function update(
        ?array $metadata = null,
        ?int $timeout = null,
        ?LifecycleRequest $lifecycle = null,
        ?bool $allowPublicTraffic = null,
        ?string $maskRequestHost = null,
        ?string $name = null,
    ): self {
        $change = new UpdateSandbox(...get_defined_vars());
        return $this->take($this->api->call(Operation::UpdateSandbox, $this->path(), body: $change));
    }

    /** @param bool|null $memory false: programs end, and the disk alone is kept */
    public function pause(?bool $memory = null): self
    {
        return $this->take($this->api->call(Operation::PauseSandbox, $this->path(), body: new PauseSandbox($memory)));
    }

    /**
     * Also of a sandbox that runs: its deadline is moved.
     *
     * @param int|null $timeout seconds from now
     * @param bool|null $extendOnly never to an earlier deadline
     * @param bool|null $memory false: from its disk, whatever its memory held
     */
    public function resume(?int $timeout = null, ?bool $extendOnly = null, ?bool $memory = null): self
    {
        $wish = new ResumeSandbox(...get_defined_vars());
        $resumed = $this->api->call(Operation::ResumeSandbox, $this->path(), body: $wish);
        $this->access->set($resumed->object('session', Session::read(...)));
        $this->info = $resumed->object('sandbox', Model\Sandbox::read(...));
        return $this;
    }

    /**
     * Until then it is not paused as idle (`idleTimeout` of its lifecycle). Its deadline stays.
     *
     * @param int $seconds from now
     */
    public function hold(int $seconds): self
    {
        return $this->take($this->api->call(Operation::HoldSandbox, $this->path(), body: new HoldSandbox($seconds)));
    }

    /** End the hold. */
    public function release(): self
    {
        return $this->take($this->api->call(Operation::ReleaseSandbox, $this->path()));
    }

    /**
     * The disk, and the memory if the checkpoint has it, become those of a checkpoint of this sandbox.
     *
     * @param string $checkpoint its id or name
     * @param int|null $timeout seconds from now
     */
    public function rollback(string $checkpoint, ?int $timeout = null): self
    {
        $wish = new RollbackSandbox($checkpoint, $timeout);
        return $this->take($this->api->call(Operation::RollbackSandbox, $this->path(), body: $wish));
    }

    /** @return list<Service> those of its template and of its create, while it runs */
    public function services(): array
    {
        return $this->api->call(Operation::ListServices, $this->path())->objects('services', Service::read(...));
    }

    /** Stop a service if it runs, and start it. */
    public function restartService(string $name): void
    {
        $this->api->call(Operation::RestartService, [...$this->path(), 'service' => $name]);
    }

    public function delete(): void
    {
        $this->api->call(Operation::DeleteSandbox, $this->path());
    }

    /**
     * A copy of its disk, from which sandboxes can be made. It outlives the sandbox.
     *
     * @param string|null $name one that is given again makes a new version; null: one is made
     */
    public function checkpoint(?string $name = null): Checkpoint
    {
        $wish = new CreateCheckpoint($name);
        return Checkpoint::read($this->api->call(Operation::CreateCheckpoint, $this->path(), body: $wish));
    }

    /** What it used, by default in the last hour. */
    public function metrics(?\DateTimeInterface $from = null, ?\DateTimeInterface $to = null): Metrics
    {
        $span = ['from' => Members::time($from), 'to' => Members::time($to)];
        return Metrics::read($this->api->call(Operation::ShowMetrics, $this->path(), $span));
    }

    /** The session in use, renewed when it is about to end. */
    public function session(): Session
    {
        return $this->access->session();
    }

    /** A session for others: for a while, or as long as the sandbox lives; for everything, or for previews only. */
    public function newSession(Lifetime $lifetime, Purpose $purpose = Purpose::Sandbox): Session
    {
        return $this->api
            ->call(Operation::CreateSession, $this->path(), body: new CreateSession($lifetime, $purpose))
            ->object('session', Session::read(...));
    }

    /** End all access tokens of the sandbox. */
    public function endSessions(): void
    {
        $this->api->call(Operation::EndSessions, $this->path());
    }

    /** @return array<string, string> */
    private function path(): array
    {
        return ['id' => $this->id];
    }

    private function take(Fields $fields): self
    {
        $this->info = Model\Sandbox::read($fields);
        return $this;
    }
}
